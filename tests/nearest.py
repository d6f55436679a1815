"""Which tests are nearest to which module of the core, for `tests/mutants.py`; and survivors that no test can catch."""

TABLES = ["bundles", "geometry", "lanes", "layout", "sums", "threads", "workspace"]  # of the CPU engine: no kernels
NEAREST = {  # module, by a glob under src/timesurf, the first that fits: globs of the tests, quick ones first
    "rule*": ["tests/test_rule*.py", "tests/engines/test_reference*.py", "tests/engines/test_senses.py"],
    "layers*": ["tests/test_layers*.py", "tests/engines/test_reference*.py"],
    "events/moving.py": ["tests/learning/test_copies.py"],
    "events*": ["tests/test_events*.py", "tests/events/**/test_*.py"],
    "calibration.py": ["tests/test_calibration_edges.py", "tests/test_calibration.py"],
    "predicting.py": [
        "tests/test_predicting*.py",
        "tests/test_calibration_edges.py",
        "tests/test_network_edges.py",
        "tests/test_network.py",
    ],
    "metrics*": ["tests/test_metrics*.py", "tests/metrics/**/test_*.py", "tests/test_confusion_table.py"],
    "modelfile*": ["tests/test_modelfile_edges.py", "tests/test_modelfile.py"],
    "network*": ["tests/test_network_edges.py", "tests/test_network.py", "tests/learning/test_sparsity.py"],
    "inference*": ["tests/test_network_edges.py", "tests/test_network.py", "tests/test_cost*.py"],
    "learning/split.py": ["tests/learning/test_split*.py", "tests/learning/test_edges*.py"],
    "learning/adapt.py": [
        "tests/learning/test_start_edges.py",
        "tests/learning/test_edges*.py",
        "tests/learning/test_continual*.py",
    ],
    "learning/grow.py": [
        "tests/learning/test_best_edges.py",
        "tests/learning/test_start_edges.py",
        "tests/learning/test_edges*.py",
        "tests/learning/test_continual*.py",
    ],
    "learning/start.py": [
        "tests/learning/test_start_edges.py",
        "tests/learning/test_edges.py",
        "tests/learning/test_units_per_class.py",
        "tests/test_cost*.py",
    ],
    "learning/schedule.py": ["tests/learning/test_edges*.py", "tests/learning/test_trainer*.py"],
    "learning/divergence.py": ["tests/learning/test_edges*.py", "tests/learning/test_trainer*.py"],
    "learning/together.py": ["tests/learning/test_loop_edges.py", "tests/learning/test_together*.py"],
    "learning/copies.py": ["tests/learning/test_copies*.py"],
    "learning/knobs.py": ["tests/test_tuning_edges.py", "tests/learning/test_law_edges.py"],
    "learning/reasons.py": ["tests/learning/test_law_edges.py"],
    "learning/law.py": ["tests/learning/test_law_edges.py", "tests/learning/test_copies*.py"],
    "learning/candidates.py": ["tests/learning/test_law*.py", "tests/learning/test_copies*.py"],
    "learning/probe.py": ["tests/learning/test_law_edges.py", "tests/learning/test_copies*.py"],
    "learning/rhythm.py": ["tests/learning/test_law_edges.py"],
    "learning/resting.py": ["tests/learning/test_resting*.py"],
    "learning/calibrate.py": ["tests/test_calibration_edges.py"],
    "learning/sparsity.py": ["tests/learning/test_sparsity*.py"],
    "learning/best.py": [
        "tests/learning/test_best_edges.py",
        "tests/learning/test_loop_edges.py",
        "tests/learning/test_trainer*.py",
    ],
    "learning/checkpoints.py": ["tests/learning/test_loop_edges.py", "tests/learning/test_checkpoints*.py"],
    "learning/*": [
        "tests/learning/test_loop_edges.py",
        "tests/learning/test_edges*.py",
        "tests/learning/test_trainer*.py",
    ],
    "spiking/*": ["tests/spiking/test_neurons.py", "tests/spiking/test_*.py"],
    "engines/reference.py": ["tests/engines/test_reference*.py", "tests/engines/test_senses.py", "tests/test_rule*.py"],
    "engines/data.py": ["tests/engines/test_data*.py", "tests/engines/test_reference*.py", "tests/test_network*.py"],
    "engines/cpu/packets.py": [
        "tests/live/test_session_edges.py",
        "tests/live/test_ties*.py",
        "tests/live/test_early*.py",
        "tests/live/test_session.py",
    ],
    "engines/cpu/ahead.py": ["tests/live/test_ahead*.py"],
    "engines/cpu/shares.py": [
        "tests/live/test_session_edges.py",
        "tests/engines/test_edges*.py",
        "tests/engines/test_against*.py",
    ],
    "engines/cpu/yardstick.py": ["tests/engines/test_edges*.py", "tests/engines/test_against*.py"],
    **{
        f"engines/cpu/{name}.py": ["tests/engines/cpu/test_*edges.py", "tests/engines/cpu/test_[gl]*.py"]
        for name in TABLES
    },
    "engines/cpu/engine.py": ["tests/engines/cpu/test_*edges.py", "tests/engines/cpu/test_[ew]*.py"],
    "engines/cpu/*": ["tests/engines/test_edges*.py", "tests/engines/test_against*.py", "tests/engines/test_senses.py"],
    "live/running.py": ["tests/live/test_session_edges.py", "tests/live/test_ties*.py", "tests/live/test_session.py"],
    "live/session.py": [
        "tests/live/test_session_edges.py",
        "tests/live/test_teaching*.py",
        "tests/live/test_ties*.py",
        "tests/live/test_session.py",
        "tests/live/test_early*.py",
    ],
    "live/checks.py": [
        "tests/live/test_session_edges.py",
        "tests/live/test_ties*.py",
        "tests/live/test_session.py",
        "tests/live/test_teaching*.py",
        "tests/live/test_commands*.py",
    ],
    "live/teaching.py": ["tests/live/test_teaching*.py"],
    **{f"live/{name}.py": ["tests/live/test_commands*.py"] for name in ("commands", "rehearsal")},
    **{f"live/{name}.py": ["tests/live/test_watching*.py"] for name in ("drift", "log", "rate", "watch")},
    **{f"live/{name}.py": ["tests/live/test_show*.py"] for name in ("acts", "playback", "recorder", "show")},
    "live/one_by_one.py": ["tests/live/test_one_by_one*.py"],
    "live/early.py": ["tests/live/test_early*.py"],
    "live/intake.py": ["tests/live/test_session_edges.py", "tests/live/test_intake*.py"],
    "live/backlog.py": ["tests/live/test_backlog_edges.py", "tests/live/test_backlog.py"],
    "transforms/cutting.py": ["tests/test_cutting*.py"],
    "transforms/disturbances.py": ["tests/test_disturbances*.py", "tests/test_transforms*.py"],
    "transforms/preparation.py": ["tests/test_preparation*.py"],
    "transforms/parts.py": ["tests/test_transforms*.py", "tests/test_preparation*.py"],
    "transforms/bending.py": ["tests/test_bending.py"],
    "transforms/places.py": ["tests/test_bending.py"],
    "transforms/*": ["tests/test_transforms_edges.py", "tests/test_transforms.py", "tests/test_preparation*.py"],
    "tuning.py": ["tests/test_tuning_edges.py", "tests/test_tuning.py"],
    "results/run.py": ["tests/results/test_run*.py", "tests/learning/test_commands*.py"],
    "results/machine.py": ["tests/results/test_machine*.py"],
    "results/many_files.py": ["tests/results/test_many_files_edges.py"],
    "results/*": ["tests/results/test_decisions*.py"],
}
OUTSIDE = [  # not the core
    "__init__.py", "__main__.py", "cores.py", "display.py", "errors.py", "times.py", "estimator*", "presets*",
    "baselines/*", "bench/*", "cli/*", "datasets/*", "export/*", "io/*", "paper/*", "plots/*", "report/*", "search/*",
    "storage/*", "engines/__init__.py", "engines/cuda/*", "engines/dask/*",
    # the page in a browser: its server, its pictures, a pad to draw on, a model for those who bring none
    "live/host.py", "live/page/*", "live/view.py", "live/pad.py", "live/starter.py",
    "live/__init__.py", "live/decision.py",  # nothing but names
]  # fmt: skip

REASONS = {  # survivors that no test can catch: module and the line after the change, and why
    (
        "engines/cpu/sums.py",
        "each = map if threads != 1 else pool(threads).map",
    ): "sums are the same for any number of threads",
    (
        "engines/cpu/bundles.py",
        "records: Array = columns.view(np.dtype([(name, columns.dtype) for name in names], align=False))[:, 0]",
    ): "fields of one size need no padding",
    (
        "engines/cpu/sums.py",
        "here = slice(*(len(arrays[0]) * n * parts for n in (part, part + 1)))",
    ): "the first part is then the whole, the others are empty: the same sums, by one thread",
    (
        "engines/data.py",
        "evidence=None if parts[1].evidence is None else np.concatenate([part.evidence for part in parts]),",
    ): "all parts have evidence or none, and one part alone was returned before",
    ("live/early.py", "_PACKET = 1025 # events"): "decisions do not depend on where a stream is cut into packets",
    ("live/running.py", "self._began = -2 # when the stream did"): "any negative time is before the first event",
    ("engines/reference.py", "def supports(stages: Stages, *, online: bool = True) -> str:"): (
        "every network is supported, online or not"
    ),
    ("engines/reference.py", "if rule is not None or learned is not None:"): "both are given, or neither",
    ("learning/split.py", "if not 0 <= share <= 1:"): "a share of 1 leaves nothing to learn from: refused next",
    (
        "modelfile/__init__.py",
        "if not 3 <= size <= min(_LARGEST_HEADER, Path(path).stat().st_size - 8):",
    ): "a header of two characters says nothing and is refused next",
    (
        "modelfile/__init__.py",
        "if not 2 < size <= min(_LARGEST_HEADER, Path(path).stat().st_size - 8):",
    ): "a header of two characters says nothing and is refused next",
    ("live/checks.py", 'return refusal("t", value, 1)'): "the limit of times is not read",
    (
        "learning/grow.py",
        "by_new = ~grown[k].frozen[trace.winner[:, k]] & (trace.winner[:, k] >= 1)",
    ): "unit 0 is never a new one",
    (
        "learning/sparsity.py",
        "share = np.bincount(winner, weight * passes, units) / np.maximum(arrived, 1.1e-300)",
    ): "any number above 0 makes a share of 0 where nothing arrived",
    ("learning/split.py", "label = np.full(len(recordings), -2)"): "any negative number is no class",
    (
        "engines/cpu/engine.py",
        "evidence, by_delta = Evidence.of(outcome, options), learn or settings.by_delta",
    ): "room for gains that are not read",
    (
        "engines/cpu/workspace.py",
        "return Workspace(new(2, np.int64), Memory.make(plan, dtype, time, new), block, log)",
    ): "a clock is one number: the second is not read",
    (
        "learning/probe.py",
        "target = np.tile(np.eye(len(classes))[label] - 1 / len(classes), (1 + len(copies), 2))",
    ): "every class twice: the first is decided for, and errors are twice as large as what they are a share of",
    (
        "spiking/start.py",
        "means = KMeans(units, n_init=1, max_iter=31, random_state=int(rng.integers(2**31))).fit(rows)",
    ): "k-means has nearly always ended by then, and after one round more is as good a start",
}
