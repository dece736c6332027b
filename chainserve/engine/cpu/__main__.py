"""`python -m chainserve.engine.cpu FD ENGINE_DIR SETTINGS`: the engine's process, started by link.py.

FD is one end of a socket pair, SETTINGS are EngineSettings as JSON. Sends "" once the engine is loaded, or why not.
"""

import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from chainserve.engine.cpu.host import EngineHost
from chainserve.engine.cpu.openvino_pipeline import OpenVinoPipeline
from chainserve.engine.cpu.settings import EngineSettings
from chainserve.engine.manifest import EngineManifest


def main(fd: str, engine_dir: str, settings: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; running streams still drain
    connection = Connection(int(fd))
    try:
        home = Path(engine_dir)
        manifest = EngineManifest.load(home)
        pipeline = OpenVinoPipeline(home, EngineSettings.model_validate_json(settings), manifest)
    except Exception as error:
        connection.send(f"{type(error).__name__}: {error}")
        raise
    connection.send("")
    EngineHost(pipeline, connection, pipeline.problem).run()
    # The library takes a second to give back its memory; the kernel does it at once.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
