"""Stop words: words left out because they stand everywhere and say little.

Both lists are short on purpose; a list is part of an experiment, so each can be named, extended and cut.
"""

from __future__ import annotations

#: Lucene's classic English list, 33 words: the default.
LUCENE = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then there
    these they this to was will with
    """.split()
)

#: The 132 words of the AgentDB keyword index, used by ``Tokenizer.ascii()``.
AGENTDB = frozenset(
    """
    a about above after again all also although an and any are as at be because been before
    below between both but by can could dare did do does down during each else even every few
    for from further had has have he her here hers him his how i if in into is it its just may
    me might mine more most must my need no nor not now of off on once only or other ought our
    ours out over own same shall she should since so some still such than that the their theirs
    them then there these they this those though through to too under unless until up us used
    very was we were what when where which while who whom why will with would you your yours
    """.split()
)

#: The lists by the name that ``stop_words=`` takes.
STOP_WORDS = {"english": LUCENE, "english-132": AGENTDB}
