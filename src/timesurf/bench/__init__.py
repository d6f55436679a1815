"""What users measure on their own machine with `timesurf bench`: speed, latency, endurance, workers.

What goes where: `bench/` measures the machine and the engines, on data made on the spot, so that anybody can repeat it;
`paper/` reproduces the paper's tables and figures; the folder `benchmarks/` of the repository, which is not installed,
holds studies (what each setting is worth, how close the simulator comes to a camera) and comparisons with other
software. Each measurement returns a dict that is ready for JSON, with a description of the machine.

===============  ============================================================  ==================
file             what it measures                                              command
===============  ============================================================  ==================
`speed.py`       events per second of the CPU engine                           `bench speed`
`limits.py`      the ratios that `bench speed --check` asks for                `bench speed`
`gpu.py`         events per second on a GPU                                    `bench speed`
`latency.py`     time from a packet of events to a decision                    `bench latency`
`endurance.py`   memory and results of a stream of many hours                  `bench endurance`
`workers.py`     a batch on the workers of Dask                                `bench workers`
`scaling.py`     a cost model, fitted to these batches, for many more workers  `bench workers`
`online.py`      accuracy on a stream that changes                             `bench online`
`senses.py`      the default on many senses, beside other methods              `bench senses`
`family.py`      HOTS and its relatives beside Sup3r                           `bench family`
`robustness.py`  accuracy on disturbed recordings, beside other methods        `bench robustness`
`settings.py`    which of the settings that the data chooses matter            `bench settings`
`processes.py`   many measurements side by side
`workloads.py`   the networks and recordings that all of them use
===============  ============================================================  ==================
"""
