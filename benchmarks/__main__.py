"""All benchmarks, or those named: ``python -m benchmarks batch peers --mnist FILE --figures FOLDER``.

Seconds differ between machines; what counts are ratios within one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from benchmarks import figures, images, large_data, peers, streaming, structure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    runs: dict[str, Callable[[argparse.Namespace], None]] = {
        "structure": lambda _: structure.main(),
        "batch": lambda _: (large_data.batch(), large_data.badly_scaled())[0],
        "stochastic": lambda options: (large_data.stochastic(options.seeds), large_data.small_real_data())[0],
        "million": lambda _: large_data.million(),
        "images": lambda options: images.shifted_digits(options.mnist),
        "peers": lambda _: (peers.without_spread(), peers.full_covariances(), peers.pegasos())[0],
        "stream": lambda options: streaming.from_disk(options.gigabytes),
        "figures": lambda options: figures.gaps(options.figures),
    }
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(runs)}; all by default")
    parser.add_argument("--mnist", help="path of the .npz for images")
    parser.add_argument("--figures", default=".", help="folder for pictures")
    parser.add_argument("--gigabytes", type=float, default=5.0, help="size of the stream")
    parser.add_argument("--seeds", type=int, default=10, help="runs of each stochastic solve")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in runs]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; choose from {', '.join(runs)}")
    for name in options.names or runs:
        runs[name](options)


if __name__ == "__main__":
    main()
