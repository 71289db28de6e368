# Parley in a container: docker compose up --build (compose.yaml beside this file, docs/operations.md).
#
# No container was built from this file: the machine on which it was written has no container daemon. A test runs its
# commands without one.

FROM node:24-slim AS build
WORKDIR /parley
COPY . .
RUN npm install --ignore-scripts --no-audit --no-fund
RUN npm run build
RUN mkdir /packages && npm pack --pack-destination /packages -w packages/protocol -w packages/client -w packages/adapter-kit -w packages/server

FROM node:24-slim
# git shows the changes of a folder, and agents use it. The certificates are for HTTPS.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/*
RUN --mount=type=bind,from=build,source=/packages,target=/packages \
    npm install --global --no-audit --no-fund /packages/*.tgz && npm cache clean --force

# Everything that changes is in /data: Parley's data folder, and the home folder with the sign-in of agents. /work is for
# the folders of sessions. A new volume gets the owner of these folders.
RUN mkdir -p /data/parley /data/home /work && chmod 700 /data/parley /data/home && chown -R node:node /data /work
VOLUME ["/data"]
WORKDIR /work

ENV NODE_ENV=production \
    HOME=/data/home \
    PARLEY_DATA_DIR=/data/parley \
    PARLEY_HOST=0.0.0.0 \
    PARLEY_PORT=4747 \
    PARLEY_TOKEN_FILE=/run/secrets/parley_token

USER node
EXPOSE 4747
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4747/api/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# Run it with an init process (docker run --init), which ends the processes that agents leave behind.
ENTRYPOINT ["parley"]
CMD ["serve", "--allow-remote", "--quiet"]
