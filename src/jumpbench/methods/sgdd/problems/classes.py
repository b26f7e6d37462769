"""Images of one class, by the word of a classifier (SGDD, Table 9)."""

from pathlib import Path

from torch import Tensor, nn

from jumpbench.artifacts import load_weights
from jumpbench.data.tokens import Batch
from jumpbench.errors import UserError
from jumpbench.methods.sgdd.likelihoods import Reward, check_sigma


class ClassProblem:
    """log p(y|x) = log p(class | x) / sigma, with a classifier as the forward model.

    The measurement is a cross-entropy to the wanted class; one chain for every row of a batch,
    whose content is not looked at.

    Args:
        side: of the images; D = side^2.
        classifier: states (B, D) -> logits (B, classes).
        weights: folder of the run that trained it; None: as it is.
        wanted: the class.
        n_states: N.
        sigma: noise scale; 1e-4 is the guidance strength 10,000 of the paper's code.

    Raises:
        UserError: weights that are missing or do not fit; (when asked) a class that the
            classifier does not have.
    """

    def __init__(
        self,
        side: int,
        classifier: nn.Module,
        weights: str | Path | None = None,
        wanted: int = 0,
        n_states: int = 2,
        sigma: float = 1e-4,
    ) -> None:
        check_sigma(sigma, UserError)
        self.length, self.n_states, self.wanted, self.sigma = side**2, n_states, wanted, sigma
        self.classifier = load_weights(classifier, weights).requires_grad_(False).eval()

    def likelihood(self, batch: Batch) -> Reward:
        self.classifier.to(batch["states"].device)
        return Reward(self.log_probability, 1 / self.sigma)

    def log_probability(self, x: Tensor) -> Tensor:
        """log p(class | x) (B,), float64: differences are multiplied by 1/sigma."""
        logits = self.classifier(x).double()
        if not 0 <= self.wanted < logits.shape[-1]:
            raise UserError(
                f"class {self.wanted} is asked for, but the classifier has {logits.shape[-1]} "
                f"classes, 0..{logits.shape[-1] - 1}"
            )
        return logits.log_softmax(-1)[:, self.wanted]

    def n_chains(self, batch: Batch) -> int:
        return len(batch["states"])
