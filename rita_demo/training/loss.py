"""The class-aware contrastive loss (InfoNCE of CLIP, with all pictures of a class as positives)."""

from open_clip import CLIP
from torch import Tensor
from torch.nn import functional as F

from rita_demo.training.model_config import ANCHORS


def contrastive_loss(
    images: Tensor,
    texts: Tensor,
    scale: Tensor,
    target: Tensor,
    ignored: Tensor,
    smoothing: float,
    text_to_image: float,
) -> Tensor:
    """Cross-entropy of pictures over texts, plus `text_to_image` times texts over pictures.

    Args:
        images, texts: unit features (B, D) and (T, D).
        scale: the inverse temperature, a scalar.
        target: (B,) the text of each picture.
        ignored: (B, T) pairs that are neither right nor wrong.
        smoothing: mass spread over the texts that are not ignored.
        text_to_image: weight of the second direction (supervised contrastive, Khosla et al. 2020:
            the mean over a text's own pictures of -log softmax over all pictures).
    """
    logits = scale * images @ texts.T
    masked = logits.masked_fill(ignored, -1e4)
    log_share = masked.log_softmax(dim=1)
    right = log_share.gather(1, target[:, None])[:, 0]
    spread = log_share.masked_fill(ignored, 0).sum(1) / (~ignored).sum(1)
    forward = -((1 - smoothing) * right + smoothing * spread).mean()
    own = F.one_hot(target, len(texts)).T.float()
    count = own.sum(1)
    backward_share = masked.T.log_softmax(dim=1)
    per_text = -(own * backward_share).sum(1) / count.clamp(min=1)
    backward = per_text.sum() / (count > 0).sum()
    return forward + text_to_image * backward


def teacher_loss(images: Tensor, taught: Tensor, model: CLIP, imagenet: Tensor) -> Tensor:
    """Cross-entropy of the teacher's answers and the pictures' over ImageNet's anchors, a scalar.

    Args:
        images: unit features (B, D).
        taught: (B, 1000) the teacher's probabilities; rows of zeros have no part.
        model: carries the anchors (C, D) and the logit scale.
        imagenet: (1000,) the anchor of each ImageNet class.
    """
    anchors = F.normalize(getattr(model, ANCHORS), dim=-1)[imagenet]
    share = (model.logit_scale.exp() * images @ anchors.T).log_softmax(dim=1)
    return -(taught * share).sum() / taught.sum().clamp(min=1)


def anchor_loss(
    features: Tensor,
    label: Tensor,
    model: CLIP,
    conflict: Tensor,
    smoothing: float,
    fixed: bool = False,
) -> Tensor:
    """Cross-entropy of features (of pictures or of prompts) against one free vector per class.

    A fresh text tower gives all sentences nearly the same feature (cosine 0.99), so that the picture
    tower would learn slowly from it. Free vectors ("anchors", a cosine classifier's weights) are apart
    from the first step; pictures and prompts both move to the anchor of their class. Anchors are
    dropped from the exported model.

    Args:
        features: unit features (B, D).
        label: (B,) class numbers in [0, C), -1 where a picture has only captions.
        model: carries the anchors (C, D), of which only the directions count, and the logit scale.
        conflict: (C, C) bool: classes too close to be told apart.
        smoothing: mass spread over the classes that are not in conflict.
        fixed: do not move the anchors.
    """
    anchors = F.normalize(getattr(model, ANCHORS), dim=-1)
    anchors = anchors.detach() if fixed else anchors
    labelled = label >= 0
    label = label[labelled]
    ignored = conflict[label]
    logits = model.logit_scale.exp() * features[labelled] @ anchors.T
    share = logits.masked_fill(ignored, -1e4).log_softmax(dim=1)
    right = share.gather(1, label[:, None])[:, 0]
    spread = share.masked_fill(ignored, 0).sum(1) / (~ignored).sum(1)
    return -((1 - smoothing) * right + smoothing * spread).mean()
