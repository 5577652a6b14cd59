"""What moves an answer: one offer is sized again and again with one thing changed, and the results are drawn.

``alone`` sizes on one offer without the rest of the market; ``sensitivity``, ``utilisation`` and, for LLMs, ``llm``
ask it many times; ``shapes`` describes what came out (series, units, labels, a table) for two thin renderers in
``drawn``. A kind of workload names its own subjects in ``Kind.explorations``.
"""
