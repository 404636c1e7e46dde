"""Words whose full stop does not end a sentence: the lists behind :mod:`ragkit.text.boundaries`.

Rules cannot know every abbreviation; these lists are short on purpose and hold what prose in English (and
a little German and French) uses most. A missing abbreviation ends its sentence too early, which costs a chunk
a better cut and never a character.
"""

from __future__ import annotations

#: Never the last word of a sentence.
NEVER_LAST = frozenset(
    """
    dr mr mrs ms mx prof messrs mme mlle rev hon gen col maj capt lt sgt sen rep gov pres adm supt fr
    fig figs eq eqs eqn tab ref refs e.g eg i.e ie cf vs viz resp incl excl approx ca
    abb abt z.b d.h u.a bzw vgl ggf evtl zzgl inkl hr frl dipl bspw sog
    """.split()
)

#: Not the last word when a number follows: "No. 5", "pp. 3-7".
BEFORE_NUMBER = frozenset(
    """
    temp tel max min no nos nr nrs vol vols p pp ch chap sec sect art para par pt bd abs ed ser op app ver v n
    """.split()
)

#: The last word only when a usual opening word follows, in a capital: "at Acme Inc. The ...".
SELDOM_LAST = frozenset(
    """
    inc ltd co corp bros jr sr st ave blvd rd mt ft etc al est dept univ assn ph.d m.d b.a m.a b.sc m.sc
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    """.split()
)

#: Times of day: the last word unless a day, a month or a time zone follows.
CLOCK = frozenset({"a.m", "p.m"})

#: Words that open sentences far more often than they follow an abbreviation.
OPENERS = frozenset(
    """
    the a an this that these those there here it its he she they we you i his her their our my your
    in on at by for from with without after before since until while when where who what why how which
    if although though because as but and or so yet then thus hence therefore however moreover also once
    one some many most several all both each every no not
    """.split()
)

#: Months and days as they follow an ordinal or a time of day: "5. Mai", "9 a.m. Monday".
CALENDAR = frozenset(
    """
    january february march april may june july august september october november december
    januar februar märz mai juni juli oktober dezember jänner
    monday tuesday wednesday thursday friday saturday sunday
    montag dienstag mittwoch donnerstag freitag samstag sonntag
    """.split()
)
