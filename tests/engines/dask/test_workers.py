"""Batches on the workers of a Dask cluster are bit-identical to the CPU engine, even if workers fail."""

import asyncio
import os
import pickle
import signal
import ssl
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone

from timesurf import Network, Recordings, Rule, Sup3rClassifier
from timesurf.bench import workloads
from timesurf.engines import Options, pack
from timesurf.engines.cpu import engine as cpu
from timesurf.engines.cpu import lanes
from timesurf.engines.cpu.layout import frozen_plan
from timesurf.engines.cpu.sums import Sums, apply
from timesurf.engines.dask import cluster
from timesurf.errors import EventError, MissingEngineError, SettingError
from timesurf.io import npz

distributed = pytest.importorskip("distributed", reason="Dask is not installed")

from timesurf.engines.dask.exchange import Sparse, SparseSums, Update  # noqa: E402
from timesurf.engines.dask.workers import Workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask leaves sockets of killed workers open, and warns about ports
HOW = {"passes": 2, "batch_size": 40, "decay": True, "keep": 0.7}
OPTIONS = Options("float32")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Recordings in a memory-mapped file."""
    path = tmp_path_factory.mktemp("data") / "strokes.npz"
    npz.write(path, workloads.strokes(120, events=2500, spread=0.28))
    return npz.read(path)


def in_memory(data):
    return type(data)(
        [np.array(x) for x in data.coords], np.array(data.t), offsets=data.offsets, field=data.field, labels=data.labels
    )


def started(data, engine):
    network = Network(workloads.NMNIST, data.field, data.polarities, range(10)).start(data[:20])
    network.engine = engine
    return network


class Recorder:
    """The CPU engine; records the weights and the events of every batch."""

    infer, surfaces = staticmethod(cpu.infer), staticmethod(cpu.surfaces)
    supports = staticmethod(cpu.supports)

    def __init__(self):
        self.batches = []

    def learn_batch(self, stages, parameters, rule, batch, options):
        self.batches.append((parameters.copy(), rule, batch))
        return cpu.learn_batch(stages, parameters, rule, batch, options)


@pytest.fixture(scope="module")
def alone(data):
    """A network trained without workers, and what went into every batch."""
    engine = Recorder()
    return started(data, engine).train(data, **HOW), engine.batches


def same(a, b):
    return a.parameters.same(b.parameters) and a.history == b.history


def sums_of(network, some):
    batch, dealt = pack(some, network.class_numbers(some)), cpu.deal(network.stages, some.counts, OPTIONS)
    about = (network.stages, network.parameters, network.rule, batch, OPTIONS, dealt)
    return cpu.learn_lanes(*about, [(0, len(dealt))])[1][0]


def size(sums):
    """Bytes: one bit per eight values, these eight where any is not 0, and the small arrays."""
    eights = sums.centroids.reshape(-1, 8).view("u4")
    return int((eights != 0).any(axis=1).sum()) * 32 + -(-len(eights) // 8) + sums.gains.nbytes + sums.thresholds.nbytes


@pytest.fixture(scope="module")
def client():
    with cluster.connect("local", workers=2) as client:
        yield client


def test_two_workers_learn_the_same_bits_and_send_what_the_formula_says(client, data, alone, monkeypatch):
    monkeypatch.setattr("timesurf.engines.dask.workers._SLOW", 0)  # half of the lanes each, however busy the machine is
    here, batches = alone
    workers = Workers(client)
    spread = started(data, workers).train(data, **HOW)
    assert same(spread, here)
    first = batches[0][0]
    sent = 2 * sum(array.nbytes for array in first.arrays)
    received = 0
    for number, (weights, rule, batch) in enumerate(batches):
        dealt = cpu.deal(here.stages, np.diff(batch.offsets), OPTIONS)
        every, half = len(dealt), int(np.rint(len(dealt) / 2))
        nodes = [*lanes.nodes(every, 0, half), *lanes.nodes(every, half, every)]
        up, (down,) = (
            [size(sums) for sums in cpu.learn_lanes(here.stages, weights, rule, batch, OPTIONS, dealt, of)[1]]
            for of in (nodes, [(0, every)])
        )
        received += sum(up)
        sent += 2 * down * (number < len(batches) - 1)
    assert (workers.batches, workers.sent, workers.received) == (len(batches), sent, received)
    np.testing.assert_array_equal(spread.infer(data).votes, here.infer(data).votes)


def test_workers_learn_by_the_delta_rule_and_give_evidence_with_the_same_bits(client, data):
    layers = [workloads.Window(5, units=6, tau=2e4, stride=3), workloads.Full(tau=2e4, units_per_class=2)]
    network = Network(layers, data.field, data.polarities, range(10), rule=Rule(last="delta")).start(data[:20])
    label, options = network.class_numbers(data), Options("float32", temperature=5.0)
    workers, here, there = Workers(client), network.snapshot(), network.snapshot()
    for _ in range(2):  # the second batch builds on sums that have travelled
        cpu.learn_batch(network.stages, here, network.rule, pack(data, label), options)
        workers.learn_part(network.stages, there, network.rule, data, label, options)
    assert here.same(there)
    found = workers.infer_all(network.stages, there, data, options)
    expected = cpu.infer(network.stages, here, pack(data), options)
    np.testing.assert_array_equal(found.votes, expected.votes)
    np.testing.assert_array_equal(found.evidence, expected.evidence)


def test_events_in_memory_travel_once(client, data, alone):
    assert not in_memory(data).mapped
    assert same(started(data, Workers(client)).train(in_memory(data), **HOW), alone[0])


@pytest.mark.parametrize("size", [1, 3, 20])
def test_few_long_recordings_among_empty_ones(client, size):
    long = workloads.strokes(3, events=40_000)
    offsets = [0, 0, 0, 0, *long.offsets[1:], *[long.offsets[-1]] * 3]
    data = Recordings(long.coords, long.t, offsets=offsets, field=long.field, labels=np.arange(9))
    spread, here = (started(data, engine).partial_fit(data, batch_size=size) for engine in (Workers(client), "cpu"))
    assert same(spread, here)
    np.testing.assert_array_equal(spread.infer(data).votes, here.infer(data).votes)


def test_other_events_with_the_same_times_are_other_events(client, data):
    here = in_memory(data[:20])
    mirrored = Recordings(
        [27 - here.coords[0], here.coords[1]], here.source, offsets=here.offsets, field=here.field, labels=here.labels
    )
    wider = here.on_field((40, 30), 1)
    assert wider.source is mirrored.source is here.source
    network, workers = started(data, "cpu"), Workers(client)
    for some, of in ((here, network), (mirrored, network), (wider, started(wider, "cpu"))):
        votes = workers.infer_all(of.stages, of.parameters, some, OPTIONS).votes
        np.testing.assert_array_equal(votes, cpu.infer(of.stages, of.parameters, pack(some), OPTIONS).votes)


def test_a_batch_that_failed_is_not_applied_twice(client, data, alone, monkeypatch):
    """Workers that received the sums of a batch which then failed are sent all weights."""
    workers = Workers(client)
    network = started(data, workers).partial_fit(data[:40], batch_size=40)
    with monkeypatch.context() as broken:
        broken.setattr("timesurf.engines.dask.workers._added", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            network.partial_fit(data[40:80], batch_size=40)
    network.partial_fit(data[40:80], batch_size=40)
    here = started(data, "cpu").partial_fit(data[:40], batch_size=40).partial_fit(data[40:80], batch_size=40)
    assert network.parameters.same(here.parameters)


def greeted(address, **how):
    """Connect as any process of this machine can, and exchange greetings, after which a server takes orders."""

    async def greet():
        comm = await distributed.comm.connect(address, timeout=5, **how)
        await comm.close()

    asyncio.run(greet())


def test_other_users_cannot_connect_to_local_workers(client):
    pytest.importorskip("cryptography")
    addresses = [client.scheduler.address, *client.nthreads()]
    assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
    without = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # no certificate, and any of the server's is accepted
    without.check_hostname, without.verify_mode = False, ssl.CERT_NONE
    another = distributed.Security.temporary().get_connection_args("client")
    another["ssl_context"].verify_mode = ssl.CERT_NONE  # the server refuses it, not the client the server
    for address in addresses:
        for place, theirs in (
            (address.replace("tls://", "tcp://"), {}),
            (address, {"ssl_context": without}),
            (address, another),
        ):
            with pytest.raises(OSError, match=r"\(closed\)|Timed out"):
                greeted(place, **theirs)
        greeted(address, **client.security.get_connection_args("client"))


def test_local_workers_without_a_certificate_say_so(caplog, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with cluster.connect("local", workers=1) as client:
        assert client.scheduler.address.startswith("tcp://127.0.0.1:")
        greeted(client.scheduler.address)  # what the others refuse
    assert "installs cryptography" in caplog.text


def test_a_cluster_is_checked_before_work_is_sent():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as other, cluster.connect(other.scheduler_address) as again:  # fmt: skip
        assert sum(again.nthreads().values()) == 2
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=50) as empty,
        pytest.MonkeyPatch.context() as hasty,
    ):
        hasty.setattr(cluster, "_PATIENCE", 0.2)
        with pytest.raises(SettingError, match="has no workers"), cluster.connect(empty.scheduler_address):
            pass


def test_workers_need_an_engine_that_can_share_a_batch(client):
    with pytest.raises(SettingError, match="cpu, cuda, auto"):
        Workers(client, engine="reference")


def test_four_workers_learn_the_same_bits(data, alone):
    """One worker, and two that share other batches: tests/bench/test_workers.py."""
    with cluster.connect("local", workers=4) as client:
        assert same(started(data, Workers(client)).train(data, **HOW), alone[0])


def test_workers_that_fail_in_the_middle_of_a_batch_change_nothing(data):
    how = HOW | {"passes": 6, "decay": False}
    with cluster.connect("local", workers=2) as client:
        batches, killed = 0, []

        def kill():
            pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid and nanny.pid not in killed]
            killed.append(pids[0])
            os.kill(pids[0], getattr(signal, "SIGKILL", signal.SIGTERM))

        def count(_):
            nonlocal batches
            batches += 1
            if batches % 7 == 1:
                threading.Timer(0.02, kill).start()  # a batch takes longer

        network = started(data, Workers(client)).train(in_memory(data), progress=count, **how)
    assert (batches, len(killed)) == (18, 3)
    assert same(network, started(data, "cpu").train(data, **how))


def test_a_worker_without_the_version_before_needs_all_weights(alone):
    network, batches = alone
    (before, rule, batch), (after, *_) = batches[:2]
    dealt = cpu.deal(network.stages, np.diff(batch.offsets), OPTIONS)
    ((sums,)) = cpu.learn_lanes(network.stages, before, rule, batch, OPTIONS, dealt, [(0, len(dealt))])[1]
    update = Update("n", 2, SparseSums.of(sums))
    assert update.applied_to(network.stages, 1, before).same(after)
    assert not before.same(after)
    assert update.applied_to(network.stages, 2, after) is after
    assert update.applied_to(network.stages, 0, before) is None
    assert update.applied_to(network.stages, -1, None) is None
    assert Update("n", 2, after).applied_to(network.stages, -1, None) is after


def test_sums_of_a_few_entries_travel_sparse(data, alone):
    network, _ = alone
    sums = sums_of(network, data[:2])
    sparse = SparseSums.of(sums)
    assert sparse.nbytes < sums.centroids.nbytes / 2
    dense = sparse.dense()
    for name in ("centroids", "gains", "thresholds"):
        assert getattr(dense, name).tobytes() == getattr(sums, name).tobytes()


def test_sums_can_be_laid_out_from_layers(data, alone):
    network, _ = alone
    sums = sums_of(network, data[:2])
    plan = frozen_plan(network.stages)

    def step(sums):
        """From centroids of 0, a step is the sum itself."""
        zero = network.snapshot()
        for units in zero:
            units.centroids[:] = 0
        apply(network.stages, zero, sums)
        return zero

    layers = []
    for k, (stage, c) in enumerate(zip(network.stages, [u.centroids for u in step(sums)], strict=True)):
        layers.append((c.reshape(stage.units, -1).T, plan.units(k, sums.gains), plan.units(k, sums.thresholds)))
    assert step(Sums.of_layers(network.stages, layers)).same(step(sums))


def test_negative_zero_is_not_zero():
    minus = np.zeros(8, np.float32) * -1
    assert Sparse.of(minus).dense().tobytes() == minus.tobytes()


def test_recordings_travel_by_the_name_of_their_file(data):
    pickled = pickle.dumps(data[5:9])
    assert len(pickled) < 5000
    arrived = pickle.loads(pickled)  # made here
    assert arrived.mapped
    np.testing.assert_array_equal(arrived.t, data[5:9].t)
    np.testing.assert_array_equal(arrived.entries(), data[5:9].entries())
    np.testing.assert_array_equal(arrived.labels, data[5:9].labels)


def test_only_the_selected_recordings_in_memory_travel(data):
    arrived = pickle.loads(pickle.dumps(in_memory(data)[5:9]))  # made here
    assert len(arrived.source) == data[5:9].counts.sum()
    np.testing.assert_array_equal(arrived.entries(), data[5:9].entries())


def test_a_file_that_changed_on_the_way_is_refused(tmp_path, data):
    path = tmp_path / "some.npz"
    npz.write(path, data[:2])
    pickled = pickle.dumps(npz.read(path))
    npz.write(path, data[:3])
    with pytest.raises(EventError, match="differs from the file that was opened elsewhere"):
        pickle.loads(pickled)  # made here
    path.unlink()
    with pytest.raises(EventError, match="cannot be opened here"):
        pickle.loads(pickled)  # made here


def test_slower_workers_receive_fewer_lanes(client):
    workers = Workers(client)
    one, other = sorted(client.nthreads())
    assert workers._shares(16) == {(0, 8): one, (8, 16): other}
    workers._speeds = {one: 3e6, other: 1e6}
    assert workers._shares(16) == {(0, 12): one, (12, 16): other}
    workers._speeds = {one: 3e6, other: 2.8e6}  # nearly equal
    assert workers._shares(16) == {(0, 8): one, (8, 16): other}


def test_a_classifier_learns_on_workers_and_can_be_cloned(client, data):
    settings = {"passes": 1, "batch_size": 40, "random_state": 0}
    spread = Sup3rClassifier(workloads.NMNIST, client=client, **settings)
    assert clone(spread).client is client
    here = Sup3rClassifier(workloads.NMNIST, **settings).fit(data)
    np.testing.assert_array_equal(clone(spread).fit(data).predict_proba(data[:10]), here.predict_proba(data[:10]))


def test_only_a_client_is_accepted():
    with pytest.raises(MissingEngineError, match="Client is needed"):
        Workers("tcp://somewhere:8786")
