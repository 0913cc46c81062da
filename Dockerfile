# The same Python builds the virtual environment and runs it. A digest pins it wholly:
# docker build --build-arg PYTHON=python:3.11.14-slim-bookworm@sha256:… .
ARG PYTHON=python:3.11.14-slim-bookworm

FROM ${PYTHON} AS build
# Wheels and compiled modules carry this time instead of that of the build.
ENV SOURCE_DATE_EPOCH=1767225600 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
RUN python -m venv --without-pip /opt/gpusched
COPY requirements.txt ./
RUN python -m pip --python /opt/gpusched/bin/python install --only-binary :all: --require-hashes -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY gpusched gpusched
COPY webhook webhook
COPY certs certs
COPY manifests manifests
RUN python -m pip --python /opt/gpusched/bin/python install --no-deps --no-build-isolation .
# What only the build of the wheel needed.
RUN python -m pip --python /opt/gpusched/bin/python uninstall --yes editables hatchling packaging pathspec pluggy tomlkit trove-classifiers

FROM ${PYTHON}
ENV PATH=/opt/gpusched/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/gpusched /opt/gpusched
USER 65532:65532
WORKDIR /
EXPOSE 8443 8444 8080
ENTRYPOINT ["gpusched"]
CMD ["serve", "--help"]
