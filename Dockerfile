# syntax=docker/dockerfile:1

# The binary is cross-compiled on the machine that builds, for the platform that the image is for.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
ENV GOCACHE=/go/cache CGO_ENABLED=0

COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download

COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG COMMIT=none
# Which command of cmd the image has: orkestra, or orkestra-providers.
ARG COMMAND=orkestra
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/cache \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
    -ldflags "-s -w -X github.com/orkspace/orkestra/cmd/orkestra/version.number=$VERSION -X github.com/orkspace/orkestra/cmd/orkestra/version.commit=$COMMIT" \
    -o /orkestra "./cmd/$COMMAND"

FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION=dev
ARG COMMIT=none
ARG COMMAND=orkestra
LABEL org.opencontainers.image.title="$COMMAND" \
      org.opencontainers.image.description="Turns a YAML OperatorBox into a running Kubernetes operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/orkspace/orkestra" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
COPY --from=build /orkestra /orkestra
USER 65532:65532
ENTRYPOINT ["/orkestra"]
CMD ["manager"]
