"""Looks into the storage again and again, and notes which messages wait there, ready."""

import threading

import psycopg

from faults.history import Kind, Recorder
from faults.willow.afterwards import READY_NOW
from faults.willow.cluster import FaultyCluster

LOOK_SECONDS = 0.5


class Observer:
    def __init__(self, cluster: FaultyCluster, recorder: Recorder, unobserved: list[str]) -> None:
        self._cluster = cluster
        self._recorder = recorder
        self._unobserved = unobserved  # queues
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.is_set():
            try:
                self._look_while_connected()
            except psycopg.Error:  # a fault: there is nothing to be seen
                self._over.wait(LOOK_SECONDS)

    def _look_while_connected(self) -> None:
        with self._cluster.connect() as connection:
            connection.execute("SET statement_timeout = '5s'")
            while not self._over.wait(LOOK_SECONDS):
                for shard, queue, index, attempt in connection.execute(READY_NOW, [self._unobserved]).fetchall():
                    self._recorder.note("observer", Kind.READY, shard=shard, queue=queue, index=index, attempt=attempt)

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
