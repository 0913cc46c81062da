"""Every benchmark in one run: figures are ratios within the run, since machines differ and are noisy."""

from tests.bench import bench_filter, bench_native, bench_simulate

for bench in (bench_filter, bench_simulate, bench_native):
    bench.main()
