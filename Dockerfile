# redlock(1), from the Debian packages of this tree:
#
#   docker build -t redlock .
#   docker run --rm -e REDLOCK_NODES redlock doctor
#
# To run a program under a lock, put it into an image of your own, FROM this one: docs/recipes.md.
ARG BASE=debian:12-slim

FROM $BASE AS packages
WORKDIR /src/libredlock
# What it is built with, before the source: another source needs no new layer of it.
COPY debian/control debian/
RUN apt-get update && apt-get install -y --no-install-recommends build-essential && \
    apt-get build-dep -y --no-install-recommends -P nocheck ./
COPY . .
RUN DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -b -us -uc -Pnocheck

FROM $BASE
COPY --from=packages /src/redlock_*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/redlock_*.deb ca-certificates && \
    rm -rf /tmp/*.deb /var/lib/apt/lists/*
USER 65534
ENTRYPOINT ["redlock"]
CMD ["--help"]
