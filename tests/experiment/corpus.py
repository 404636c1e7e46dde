"""A small collection that sweeps and tunings are tried on."""

DOCS = {
    "a": "red fox in the snow",
    "b": "red red wine and more red wine from the south of the country",
    "c": "blue whale",
    "d": "a fox and a hen",
    "e": "the long red story of a fox who met another fox on the way to town",
}
QUERIES = {"q1": "red fox", "q2": "wine", "q3": "fox story", "q4": "whale"}
QRELS = {"q1": {"a": 2, "e": 1}, "q2": {"b": 1}, "q3": {"e": 1}, "q4": {"c": 1}}
