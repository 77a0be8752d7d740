# The page in a container, for CPU and CUDA alike: docs/deployment.md says how it is built and run.
FROM python:3.11-slim

# Empty: the package registry's torch, one build for both (6 GB). The address of an index with CPU-only builds of the
# pinned versions makes a smaller image that uses no GPU.
ARG TORCH_INDEX=""

RUN useradd --create-home --uid 1000 rita && install -d -o rita /srv/data /srv/runs
WORKDIR /app

COPY requirements.txt constraints.txt ./
RUN python -m pip install --no-cache-dir --disable-pip-version-check ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} -r requirements.txt -c constraints.txt

COPY LICENSE app.py ./
COPY assets assets
COPY docs/teaching.md docs/
COPY rita_demo rita_demo

ENV RITA_HOST=0.0.0.0 RITA_PORT=7860 RITA_DATA=/srv/data RITA_RUNS=/srv/runs PYTHONUNBUFFERED=1 NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER rita
VOLUME ["/srv/data", "/srv/runs"]
EXPOSE 7860
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=180s CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open('http://127.0.0.1:' + os.environ['RITA_PORT'] + '/health', timeout=4)"]
CMD ["python", "app.py"]
