"""Every benchmark in one run: figures are ratios within the run, since machines differ and are noisy."""

from tests.bench import (
    bench_cache,
    bench_explain,
    bench_filter,
    bench_http,
    bench_native,
    bench_scheduler,
    bench_simulate,
)
from tests.bench.table import show

for bench in (bench_filter, bench_http, bench_cache, bench_explain, bench_scheduler, bench_simulate, bench_native):
    show(bench.rows())
