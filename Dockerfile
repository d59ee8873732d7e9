# agentlogs in an image without a shell, whose user is not root: docs/install.md#container
#
#   docker build -t agentlogs .
#   docker run --rm -v "$PWD/logs:/logs:ro" -v agentlogs:/archive agentlogs ingest /logs

# Programs that are compiled here are static: the C library is musl.
FROM --platform=$BUILDPLATFORM rust:1.95-alpine AS build
RUN apk add --no-cache bash gcc musl-dev
WORKDIR /source
COPY . .
# A release copies its programs to release/amd64 and release/arm64; without them the program is built for this machine.
ARG TARGETARCH
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/source/target \
    mkdir /archive \
    && if [ -e "release/$TARGETARCH/agentlogs" ]; then cp "release/$TARGETARCH/agentlogs" /agentlogs; \
    else bash scripts/release-build.sh && cp target/dist/agentlogs /agentlogs; fi \
    && chmod 755 /agentlogs

# Certificates, time zones and the user, and nothing else.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /agentlogs /usr/local/bin/agentlogs
COPY --from=build --chown=nonroot:nonroot /archive /archive
COPY LICENSE-MIT LICENSE-APACHE THIRD-PARTY-NOTICES /usr/share/doc/agentlogs/
ENV AGENTLOGS_ARCHIVE=/archive
VOLUME /archive
WORKDIR /archive
ENTRYPOINT ["/usr/local/bin/agentlogs"]
