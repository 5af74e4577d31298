# SPDX-License-Identifier: Apache-2.0
"""The trackers that lockstep.track writes to, each through its own package."""

from __future__ import annotations

import importlib
import os
import pathlib
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from lockstep.errors import LockstepError


class Line(NamedTuple):
    """A line of metrics.jsonl as trackers take it."""

    step: int
    time_s: float
    values: dict[str, float]


class Tracker(Protocol):
    """A run of a tracker. Whatever these calls raise is told once, and tried again later.

    `place` says where the run is seen, once it has been started.
    """

    place: str

    def start(self, run: str | None) -> str:
        """Continues that run, or begins one; returns its name for the next start."""

    def options(self, options: Mapping[str, str]) -> None: ...

    def write(self, lines: list[Line]) -> None: ...

    def finish(self) -> None: ...


def package(name: str, install: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise LockstepError(f"this Python has no package {name} ({error}): pip install {install}") from None


def project_of(given: str | None, variable: str) -> str:
    """The project that the user names, by the option or by the tracker's own variable."""
    return given or os.environ.get(variable) or "lockstep"


class Wandb:
    """Weights & Biases. WANDB_MODE=offline writes into the model's folder, for `wandb sync`."""

    def __init__(self, folder: pathlib.Path, project: str | None) -> None:
        self._wandb, self._folder = package("wandb", "wandb"), folder
        self._project = project_of(project, "WANDB_PROJECT")
        self._run: Any = None
        self.place = ""

    def start(self, run: str | None) -> str:
        settings = self._wandb.Settings(console="off", silent=True)
        self._run = self._wandb.init(project=self._project, id=run, resume="allow",
                                     name=os.environ.get("WANDB_NAME") or self._folder.name,
                                     dir=str(self._folder), settings=settings)
        # A run that goes on from a checkpoint repeats steps, which wandb's own counter never does.
        self._run.define_metric("*", step_metric="step")
        self.place = f"{self._folder}/wandb, for wandb sync" if self._run.offline else str(self._run.url)
        return str(self._run.id)

    def options(self, options: Mapping[str, str]) -> None:
        self._run.config.update(dict(options), allow_val_change=True)

    def write(self, lines: list[Line]) -> None:
        for line in lines:
            self._run.log({"step": line.step, **line.values})

    def finish(self) -> None:
        self._run.finish()


class Mlflow:
    """MLflow. MLFLOW_TRACKING_URI names the server or the data base."""

    def __init__(self, folder: pathlib.Path, project: str | None) -> None:
        self._mlflow, self._folder = package("mlflow", "mlflow"), folder
        self._project = project_of(project, "MLFLOW_EXPERIMENT_NAME")
        self._client: Any = None
        self._run = self.place = ""

    def start(self, run: str | None) -> str:
        self._client = self._mlflow.MlflowClient()
        if run is None:
            found = self._client.get_experiment_by_name(self._project)
            experiment = found.experiment_id if found else self._client.create_experiment(self._project)
            run = str(self._client.create_run(experiment, run_name=self._folder.name).info.run_id)
        else:
            self._client.update_run(run, status="RUNNING")
        self._run, self.place = run, str(self._mlflow.get_tracking_uri())
        return run

    def options(self, options: Mapping[str, str]) -> None:
        # A parameter of MLflow never changes; a tag does, and a run that goes on may have other options.
        for name, value in options.items():
            self._client.set_tag(self._run, name, value[:5000])

    def write(self, lines: list[Line]) -> None:
        metric = self._mlflow.entities.Metric
        values = [metric(name, value, int(1000 * line.time_s), line.step) for line in lines for name, value in line.values.items()]
        for begin in range(0, len(values), 1000):
            self._client.log_batch(self._run, metrics=values[begin:begin + 1000])

    def finish(self) -> None:
        self._client.set_terminated(self._run)


class Comet:
    """Comet. Without a key of Comet the run is written into the model's folder, for `comet upload`."""

    def __init__(self, folder: pathlib.Path, project: str | None) -> None:
        os.environ.setdefault("COMET_LOGGING_CONSOLE", "WARNING")
        self._comet, self._folder = package("comet_ml", "comet-ml"), folder
        self._project = project_of(project, "COMET_PROJECT_NAME")
        self._run: Any = None
        self.place = ""

    def start(self, run: str | None) -> str:
        online = bool(self._comet.get_config("comet.api_key"))
        settings = self._comet.ExperimentConfig(name=self._folder.name, log_code=False, log_git_metadata=False,
                                                log_env_details=False, auto_output_logging=False, display_summary_level=0,
                                                offline_directory=str(self._folder))
        self._run = self._comet.start(project_name=self._project, experiment_key=run, online=online,
                                      mode="create" if run is None else "get_or_create", experiment_config=settings)
        self.place = str(self._run.url) if online else f"{self._folder}, for comet upload"
        return str(self._run.get_key())

    def options(self, options: Mapping[str, str]) -> None:
        self._run.log_parameters(dict(options))

    def write(self, lines: list[Line]) -> None:
        for line in lines:
            self._run.log_metrics(line.values, step=line.step)

    def finish(self) -> None:
        self._run.end()


TRACKERS: dict[str, Any] = {"wandb": Wandb, "mlflow": Mlflow, "comet": Comet}
