"""`python -m webhook.main`: the webhook alone, as `gpusched serve --role webhook` with the same options."""

import sys

from gpusched.cli.serve import serve


def main() -> None:
    """Run the webhook with the command line's options."""
    serve.main(args=["--role", "webhook", *sys.argv[1:]], prog_name="python -m webhook.main")


if __name__ == "__main__":
    main()
