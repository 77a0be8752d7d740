"""The class-aware contrastive loss (InfoNCE of CLIP, with all pictures of a class as positives)."""

from open_clip import CLIP
from torch import Tensor
from torch.nn import functional as F

from tools.train.model_config import ANCHORS


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
        images, texts: unit features (B, D) and (T, D). scale: the inverse temperature, a scalar.
        target: (B,) the text of each picture. ignored: (B, T) bool: pairs that are neither positive nor negative.
        smoothing: mass spread over the texts that are not ignored. text_to_image: weight of the second direction
            (supervised contrastive, Khosla et al. 2020: the mean over a text's own pictures of -log softmax over all).
    """
    logits = scale * images @ texts.T
    forward = smoothed_cross_entropy(logits, target, ignored, smoothing)
    own = F.one_hot(target, len(texts)).T.float()
    count = own.sum(1)
    backward_share = logits.masked_fill(ignored, -1e4).T.log_softmax(dim=1)
    per_text = -(own * backward_share).sum(1) / count.clamp(min=1)
    backward = per_text.sum() / (count > 0).sum()
    return forward + text_to_image * backward


def teacher_loss(images: Tensor, teacher_probabilities: Tensor, model: CLIP, imagenet: Tensor) -> Tensor:
    """Cross-entropy between the teacher's probabilities and those of the pictures over ImageNet's anchors, a scalar.

    Args:
        images: unit features (B, D). teacher_probabilities: (B, 1000); rows of zeros do not count.
        model: has the anchors (C, D) and the logit scale. imagenet: (1000,) the anchor of each ImageNet class.
    """
    anchors = F.normalize(getattr(model, ANCHORS), dim=-1)[imagenet]
    share = (model.logit_scale.exp() * images @ anchors.T).log_softmax(dim=1)
    return -(teacher_probabilities * share).sum() / teacher_probabilities.sum().clamp(min=1)


def anchor_loss(
    features: Tensor, label: Tensor, model: CLIP, ambiguous: Tensor, smoothing: float, fixed: bool = False
) -> Tensor:
    """Cross-entropy of features (of pictures or of prompts) against one free vector per class.

    An untrained text tower gives all sentences nearly the same feature (cosine 0.99), so that the image tower learns
    slowly from it. Free vectors ("anchors", the weights of a cosine classifier) differ from the first step; pictures
    and prompts both move to the anchor of their class. The exported model has no anchors.

    Args:
        features: unit features (B, D). label: (B,) class numbers in [0, C), -1 where a picture has only captions.
        model: has the anchors (C, D), of which only the directions count, and the logit scale.
        ambiguous: (C, C) bool: pairs of classes with similar meaning. smoothing: mass spread over the others.
        fixed: do not move the anchors.
    """
    anchors = F.normalize(getattr(model, ANCHORS), dim=-1)
    anchors = anchors.detach() if fixed else anchors
    labelled = label >= 0
    label = label[labelled]
    logits = model.logit_scale.exp() * features[labelled] @ anchors.T
    return smoothed_cross_entropy(logits, label, ambiguous[label], smoothing)


def smoothed_cross_entropy(logits: Tensor, target: Tensor, ignored: Tensor, smoothing: float) -> Tensor:
    """Mean cross-entropy of logits (B, T) with label smoothing; pairs that are ignored (B, T) do not count."""
    share = logits.masked_fill(ignored, -1e4).log_softmax(dim=1)
    right = share.gather(1, target[:, None])[:, 0]
    spread = share.masked_fill(ignored, 0).sum(1) / (~ignored).sum(1)
    return -((1 - smoothing) * right + smoothing * spread).mean()
