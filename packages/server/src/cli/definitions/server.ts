import { list, type Registry } from './registry.ts'

/** The commands for a server, its nodes and its data folder. */
export function addServerCommands(registry: Registry): void {
  addAcp(registry)
  addNodes(registry)
  addDoctor(registry)
  addMigrate(registry)
}

const databaseUrlHelp =
  'store everything in this PostgreSQL database; other users can see this option: prefer PARLEY_DATABASE_URL'

export function addServe({ add, run }: Registry): void {
  add(
    'serve',
    'run the server (the default)',
    'parley',
    'parley serve --port 0 --json',
    'parley --data-dir ./parley-data',
  )
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'the port; 0 picks a free one (default: 4747)')
    .option('--allow-remote', 'confirm that a non-loopback --host is intended; needs a token of your own')
    .addOption(list('--allow-origin <origin>', 'allow web pages of this origin; repeatable'))
    .addOption(list('--allow-host <name>', 'also accept this host name; repeatable'))
    .option('--public-url <url>', 'where browsers reach this server, as in https://host or https://host/path')
    .option('--tls-cert <file>', 'serve https with this certificate and its chain (PEM)')
    .option('--tls-key <file>', 'the private key of the certificate (PEM)')
    .addOption(
      list('--trust-proxy <network>', 'use X-Forwarded-For of this proxy for rate limits; repeatable'),
    )
    .option(
      '--allow-insecure',
      'let browsers on other machines sign in over plain HTTP; they are marked weak',
    )
    .option('--database-url <url>', databaseUrlHelp)
    .option('--node-url <url>', 'where other nodes reach this one (default: the address it listens on)')
    .option('--place <name>', 'the name of this machine among the nodes (default: made from its machine id)')
    .option(
      '--decide-from <callers>',
      'who may decide: "anywhere" (browsers and tokens, the default) or "devices" (browsers only)',
    )
    .option(
      '--decide-by-link <decisions>',
      'what links for one request can decide: "deny" (deny only, the default), "allow" (allow or deny) or "off" (nothing)',
    )
    .option('--json', 'print one line {"url","token","pid"} instead of the greeting and the link')
    .option('--quiet', 'print neither the greeting nor the link; the log has the address')
    .addHelpText(
      'after',
      `
The last line on stdout is a link that signs a browser in. Logs go to stderr, as JSON unless it is a terminal.
SIGINT or SIGTERM stops the server. Open requests are kept; answer them after the next start.`,
    )
    .action(run(async () => (await import('../commands/serve.ts')).serve))
}

function addAcp({ add, context, run }: Registry): void {
  add(
    'acp',
    'serve an agent to an editor over the Agent Client Protocol (stdin and stdout)',
    'parley acp --agent claude',
  )
    .requiredOption('--agent <agent>', `the agent that the editor uses; see: ${context.invocation} agents`)
    .option('--mode <mode>', 'the mode of new sessions: ask, accept-edits, read-only, plan or bypass')
    .option('--model <model>', 'the model of new sessions')
    .addHelpText(
      'after',
      `
If a server is already running with this data folder, this command connects to it: other clients show the editor's
sessions live, and turns continue when the editor disconnects. Otherwise this command runs the sessions itself until the
editor disconnects.
Logs are written to stderr.`,
    )
    .action(run(async () => (await import('../commands/acp.ts')).acp))
}

function addNodes({ add, run }: Registry): void {
  add(
    'nodes',
    'list the servers on the PostgreSQL database: their machines, sessions and leases',
    'parley nodes',
    'parley nodes --json',
  )
    .option('--json', 'print one node per line, as JSON')
    .addHelpText(
      'after',
      `
LEASE is the time since the node last proved that it is alive; POSTGRES is how long the database took to answer the node.
A server on SQLite is the only node.`,
    )
    .action(run(async () => (await import('../commands/nodes.ts')).nodes))
}

function addDoctor({ add, run }: Registry): void {
  add('doctor', 'check this machine and the data folder; exit code 1 if something fails', 'parley doctor')
    .option('--host <address>', 'the address to check (default: 127.0.0.1)')
    .option('--port <port>', 'the port to check (default: 4747)')
    .option('--database-url <url>', databaseUrlHelp.replace('store everything in', 'check'))
    .option('--json', 'print one check per line, as JSON')
    .action(run(async () => (await import('../commands/doctor.ts')).doctor))
}

function addMigrate({ add, run }: Registry): void {
  add(
    'migrate',
    'copy the data folder into a PostgreSQL database, or back',
    'parley migrate --to postgres://parley@db/parley',
    'PARLEY_DATABASE_URL=… parley migrate --to',
    'parley migrate --from postgres://parley@db/parley --data-dir ./copy',
  )
    .option('--to [url]', 'copy the SQLite file of the data folder into this database')
    .option('--from [url]', 'copy this database into the SQLite file of the data folder')
    .option('--check', 'copy nothing: only compare source and target')
    .option('--place <name>', 'the name of the machine on which the folders of the sessions are')
    .option('--json', 'print progress and result, one JSON object per line')
    .addHelpText(
      'after',
      `
Without a URL, --to and --from use PARLEY_DATABASE_URL or databaseUrl in config.json; a URL among the arguments can be
seen by others on this machine. The source must not be in use, and is not changed. The target must be empty, or an
interrupted copy of the same source, which is continued. Every event, state, receipt and setting is compared after it
was copied. Until that has succeeded, no server opens the target. Exit code: 0 equal, 1 failed or different, 2 usage.`,
    )
    .action(run(async () => (await import('../commands/migrate.ts')).migrate))
}
