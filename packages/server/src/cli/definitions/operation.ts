import { list, type Registry } from './registry.ts'

/** The commands that keep a server running and its data safe. */
export function addOperationCommands(registry: Registry): void {
  addService(registry)
}

function addService({ add: addToProgram, under, run }: Registry): void {
  const load = () => import('../commands/service.ts')
  const service = addToProgram(
    'service',
    'run the server as a service of your user, with systemd or launchd',
    'parley service install',
    'parley service install --at-boot -- --port 8080',
    'parley service logs --follow',
  ).helpCommand(false)
  const add = under(service)
  add(
    'install',
    'install or update the service, start it, and wait until it answers',
    'parley service install',
    'parley service install --print',
    'parley service install --at-boot -- --port 8080 --public-url https://parley.example.org',
  )
    .argument('[options...]', 'options of "serve", after --; they are kept until others are given')
    .option('--at-boot', 'also run it while you are not logged in (systemd: lingering)')
    .addOption(
      list(
        '--env <name>',
        'give the service this variable of your environment; repeatable, kept like the options',
      ),
    )
    .option('--print', 'print the definition, and install nothing')
    .option('--json', 'print {"file","changed","url"} as JSON')
    .addHelpText(
      'after',
      `
The service gets your current PATH, so that it finds the same agents, git and npm. Run this command again after an update of
Parley or Node. Its definition is readable only by you. It stores no token and no database URL: write these into config.json.`,
    )
    .action(run(async () => (await load()).installService))
  add(
    'status',
    'show whether the service runs; exit code 0 only if its server answers',
    'parley service status',
  )
    .option('--json', 'as JSON')
    .action(run(async () => (await load()).serviceStatus))
  add(
    'logs',
    'print the log of the service',
    'parley service logs --lines 500',
    'parley service logs --follow',
  )
    .option('--lines <number>', 'how many lines', '100')
    .option('--follow', 'print new lines as they are written')
    .action(run(async () => (await load()).serviceLogs))
  add('uninstall', 'stop the service and remove it; the data stays', 'parley service uninstall')
    .option('--json', 'print {"removed","file"} as JSON')
    .action(run(async () => (await load()).uninstallService))
}
