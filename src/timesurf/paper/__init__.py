"""What reproduces the paper: its tables and figures, and the same experiments on further tasks and data.

What goes where: `paper/` holds the experiments of the paper (`timesurf bench classification`, `continual`,
`incremental`, `nmnist`); `bench/` what users measure on their own machine (`timesurf bench speed`, `latency`,
`endurance`, `workers`); the folder `benchmarks/` of the repository, which is not installed, holds studies and
comparisons with other software. Each experiment makes or takes its data, trains, tests, and returns a dict that is
ready for JSON, with the seed, the settings and the machine.

==============  ====================================================  ===========================
file            experiment                                            command
==============  ====================================================  ===========================
`table1.py`     Table 1: two sentences                                `bench classification`
`continual.py`  continual learning: characters change without labels  `bench continual`
`table2.py`     Table 2: new classes, task after task                 `bench incremental`
`digits.py`     the same on digits of N-MNIST                         `bench incremental --data`
`table3.py`     Table 3: N-MNIST                                      `bench nmnist`
`beyond.py`     rows beyond it                                        `bench nmnist --beyond`
`transfer.py`   from simulated to real digits                         `bench nmnist --transfer`
==============  ====================================================  ===========================
"""
