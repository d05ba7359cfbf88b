"""Makes `rliable.json`, what the library rliable says of some made-up scores, in an environment of its own.

    pip install rliable 'pandas<3' setuptools && python tests/study/rliable_reference.py > tests/study/rliable.json

rliable 1.2 needs an `arch` that does not import beside pandas 3, so it cannot live in our environment.
"""

import json
from importlib.metadata import version

import numpy as np
from rliable import library, metrics

rng = np.random.default_rng(7)
ours = np.round(np.clip(rng.normal(0.8, 0.2, (5, 3)), 0, 1), 2)
theirs = np.round(np.clip(rng.normal(0.5, 0.3, (5, 3)), 0, 1), 2)
taus = [0.0, 0.25, 0.5, 0.75, 0.9]


def interval(data, f):
    v, ci = library.get_interval_estimates({"x": data}, f, reps=20000, random_state=np.random.RandomState(0))
    return np.concatenate([np.ravel(v["x"])[None], ci["x"].reshape(2, -1)], 0).T.tolist()


out = {
    "rliable": version("rliable"),
    "ours": ours.tolist(),
    "theirs": theirs.tolist(),
    "thresholds": taus,
    "iqm": interval(ours, lambda x: np.array([metrics.aggregate_iqm(x)]))[0],
    "improvement": interval((ours, theirs), lambda x, y: np.array([metrics.probability_of_improvement(x, y)]))[0],
}
v, ci = library.create_performance_profile({"x": ours}, np.array(taus), reps=20000)
out["profile"] = np.stack([v["x"], ci["x"][0], ci["x"][1]], 1).tolist()
print(json.dumps(out))
