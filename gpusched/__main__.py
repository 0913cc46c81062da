"""`python -m gpusched`."""

from gpusched.cli.entry import main

main()
