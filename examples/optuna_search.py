#!/usr/bin/env python3
"""Looks for good settings of a job with Optuna: each trial is a run, what an
evaluation finds is reported as it comes, and a trial that does badly is stopped.
Optuna decides, Ballast trains; nothing of the one is built into the other.

  pip install optuna
  examples/optuna_search.py examples/jobs/clean_csv.json --trials 12 --folder runs/search

Ended in the middle, the same command goes on: trials that were under way are
resumed from their newest checkpoint.
"""
import argparse
import json
import pathlib
import subprocess
import time

import optuna
from optuna.trial import TrialState

METRIC = "test_loss"  # smaller is better


def settings(trial):
    """What is tried. Pointers are those of docs/job.md."""
    return {
        "/train/optimizer/lr": trial.suggest_float("lr", 1e-4, 1e-1, log=True),
        "/model/hidden": [trial.suggest_int("width", 4, 64, log=True)],
        "/train/global_batch": trial.suggest_categorical("batch", [16, 32, 64]),
    }


def evaluations(folder, since):
    """(epoch, value) of those that the events tell after `since`."""
    try:
        lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    told = [json.loads(line) for line in lines if line.endswith("}")]
    return [(one["epoch"], one[METRIC]) for one in told
            if one["kind"] == "evaluation" and one["epoch"] > since]


def is_done(folder):
    try:
        return json.loads((folder / "report.json").read_text(
            encoding="utf-8"))["state"] == "done"
    except FileNotFoundError:
        return False


def train(options, trial, folder, sets):
    """The value of the last evaluation. Raises TrialPruned."""
    if is_done(folder):
        return evaluations(folder, 0)[-1][1]
    if (folder / "ledger.sqlite").exists():
        command = ["run", "--resume", folder]
    else:
        command = ["run", options.job, "--run-dir", folder]
        for pointer, value in sets.items():
            command += ["--set", f"{pointer}={json.dumps(value)}"]
    with open(f"{folder}.log", "a", encoding="utf-8") as log:
        run = subprocess.Popen([options.ballast, *command, "--no-progress"],
                               stdout=log, stderr=log)
    seen, value, pruned = 0, None, False
    try:
        while True:
            ended = run.poll() is not None
            for seen, value in evaluations(folder, seen):
                trial.report(value, seen)
            if ended:
                break
            if not pruned and value is not None and trial.should_prune():
                pruned = True
                subprocess.run([options.ballast, "ctl", "stop", "--to", folder],
                               stdout=subprocess.DEVNULL, check=False)
            time.sleep(0.05)
    finally:
        run.terminate()  # Ctrl-C here: it saves a checkpoint and ends
        run.wait()
    if pruned:
        raise optuna.TrialPruned()
    if run.returncode != 0 or value is None:
        raise RuntimeError(f"see {folder}.log")
    return value


def interrupted(study):
    """Trials of a search that was ended, which nobody works at any more."""
    for one in study.get_trials(states=[TrialState.RUNNING]):
        study.tell(one.number, state=TrialState.FAIL)
        study.enqueue_trial(one.params, user_attrs={
            "folder": one.user_attrs.get("folder", f"trial-{one.number}")})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("job")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--folder", type=pathlib.Path, default="runs/search")
    parser.add_argument("--ballast", default="build/release/ballast")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        study_name="search", storage=f"sqlite:///{options.folder}/search.db",
        load_if_exists=True, direction="minimize",
        pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=3))
    interrupted(study)

    def objective(trial):
        name = trial.user_attrs.get("folder", f"trial-{trial.number}")
        trial.set_user_attr("folder", name)
        return train(options, trial, options.folder / name, settings(trial))

    ended = sum(one.state in (TrialState.COMPLETE, TrialState.PRUNED)
                for one in study.get_trials())
    study.optimize(objective, n_trials=max(0, options.trials - ended),
                   catch=[RuntimeError])
    best = study.best_trial
    print(f"best: {METRIC} {best.value:.4f} by {best.params}, in "
          f"{options.folder / best.user_attrs['folder']}")


if __name__ == "__main__":
    main()
