"""What a presenter says on each slide of the lecture (``?lecture``; the key n shows it). docs/teaching.md has the same."""

#: Css class of a section -> its note.
NOTES = {
    "hero": "CLIP compares a picture with one sentence for each class and answers with the closest. Press Play: it falls within "
    "a few small steps.",
    "attack": "Every pixel moves a little, in the direction that raises the error. Let the room predict what noise of the same size does.",
    "push": "The pattern is made for one grid of pixels. A crop shifts and scales it, and the pushes cancel. Drag the crop.",
    "rules": "Each crop has an answer of its own. The average counts all of them; transport may leave out the dearest.",
    "law": "Leaving out forgives crops that show something else, and multiplies crops that all say the same wrong thing.",
    "survive": "A change that small is fragile; JPEG or a smaller copy may remove it. Not always.",
    "drift": "An attack moves the whole picture away from its own crops. A threshold finds many, at a price.",
    "memory": "RITA stores its surest crops under its own answers. Measured, it changes few answers.",
    "knows": "An attacker who computes through the defence turns the crops as well. A number holds only for the attacker beside it.",
    "good": "Compare within a column. A tower that was trained on attacks keeps more than half, also against the attacker who knows.",
}
