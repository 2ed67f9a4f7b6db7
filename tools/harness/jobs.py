"""Jobs that need no data and compute as little as asked."""


def emulated_job(rows=10007, workers=2, batch=256, epochs=1, us_per_sample=0,
                 us_per_step=0, parameters=1000, **more):
    """A job that measures the runtime itself: quick, or as slow as asked."""
    return merged({
        "name": "emulated",
        "data": {"train": {"format": "synthetic", "rows": rows, "classes": 4,
                           "features": 4},
                 "test_fraction": 0},
        "model": {"kind": "emulated", "parameters": parameters,
                  "us_per_sample": us_per_sample, "us_per_step": us_per_step},
        "train": {"epochs": epochs, "global_batch": batch,
                  "optimizer": {"kind": "sgd", "lr": 0.1}},
        # A machine that is busy must not look like a worker that is silent.
        "elastic": {"workers": workers, "heartbeat_ms": 1000},
        "trace_samples": True}, more)


def endless_job(workers=2, **more):
    """Trains for hours in steps of 5 ms, unless somebody ends it."""
    return emulated_job(rows=2000, workers=workers, batch=20, epochs=100000,
                        us_per_step=5000, **more)


def merged(base, more):
    """`base` with the fields of `more`; objects merge, all else is replaced."""
    out = dict(base)
    for key, value in more.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merged(out[key], value) if both else value
    return out
