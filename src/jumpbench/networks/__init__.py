"""The architectures of the papers, and small ones."""

from jumpbench.lazy import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "bit_energy": "BitEnergy",
        "count_perceptron": "CountPerceptron",
        "coupling_energy": "CouplingEnergy",
        "denoising_scores": "DenoisingScores",
        "free_energy": "FreeEnergy",
        "image_classifier": "ImageClassifier",
        "lattice_transformer": "LatticeController LatticeCorrector",
        "leattn": "LeAttn",
        "leconv": "LeConv",
        "legf": "LeGF",
        "lemlp": "LeMLP",
        "letf": "LeTF",
        "locally_equivariant": "LocallyEquivariantConvolution LocallyEquivariantPerceptron",
        "ncsnpp": "NCSNpp",
        "object_encoders": (
            "DigitwiseEncoder IntegerEncoder NumberEncoder PieceEncoder PointFeatures ScalarEncoder"
        ),
        "object_scores": "ObjectScores",
        "permutation_transformer": "PermutationTransformer",
        "score_transformer": "ScoreTransformer",
        "sequence_convolution": "SequenceConvolution",
        "sinkhorn": "gumbel_sinkhorn log_sinkhorn",
        "sorting_networks": "SoftSortingNetwork bitonic odd_even",
        "state_perceptron": "StatePerceptron",
        "tour_transformer": "TourTransformer",
    },
)
