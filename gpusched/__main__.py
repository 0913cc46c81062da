"""`python -m gpusched`."""

from gpusched.cli.main import main

main()
