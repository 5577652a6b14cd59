# The product as one image: the same files serve the web, the worker and beat.
FROM python:3.13-slim-bookworm

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    MITSUMORI_MODE=production MITSUMORI_DATA_DIR=/data HOST=0.0.0.0 PORT=8000

RUN useradd --system --uid 10001 --home-dir /app mitsumori && mkdir /data && chown mitsumori /data
WORKDIR /app

# requirements-nebius.txt: the same and the library that prices of Nebius need.
ARG REQUIREMENTS=requirements.txt
COPY ${REQUIREMENTS} .
RUN pip install --require-hashes --requirement ${REQUIREMENTS}
COPY . .
RUN python -m compileall -q accounts catalog mitsumori planner reports

USER mitsumori
VOLUME /data
EXPOSE 8000
CMD ["gunicorn", "mitsumori.wsgi:application"]
