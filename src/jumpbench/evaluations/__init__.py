"""How samples are judged: one object per problem, with its truth, floors and ceilings."""
