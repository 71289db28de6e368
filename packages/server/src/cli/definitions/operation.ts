import { type Command, Option } from 'commander'
import { list, type Registry } from './registry.ts'

/** The commands that keep a server running and its data safe. */
export function addOperationCommands(registry: Registry): void {
  addService(registry)
  addBackup(registry)
  addRetention(registry)
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
    .option('--json', 'print the result as JSON')
    .action(run(async () => (await load()).serviceStatus))
  add(
    'logs',
    'print the log of the service',
    'parley service logs --lines 500',
    'parley service logs --follow',
  )
    .option('--lines <number>', 'the number of lines', '100')
    .option('--follow', 'print new lines as they are written')
    .option('--json', 'print only lines of the server, one JSON object per line')
    .action(run(async () => (await load()).serviceLogs))
  add('uninstall', 'stop the service and remove it; the data stays', 'parley service uninstall')
    .option('--json', 'print {"removed","file"} as JSON')
    .action(run(async () => (await load()).uninstallService))
}

function addBackup({ add, run }: Registry): void {
  add(
    'backup',
    'write a backup of the data folder to a file; a running server continues to work',
    'parley backup',
    'parley backup /backups/parley.tar.gz',
  )
    .argument('[file]', 'the file to write (default: parley-<time>.tar.gz in the current folder)')
    .option('--json', 'print {"file","bytes","files"} as JSON')
    .addHelpText(
      'after',
      `
A backup contains the sessions, rules, people, devices and tokens, config.json, and checksums. It contains neither installed
agents nor the conversations that agents themselves store. It contains secrets; the file is readable only by you.`,
    )
    .action(run(async () => (await import('../commands/backup.ts')).backup))
  add(
    'restore',
    'replace the data folder with the contents of a backup; no server may run',
    'parley restore parley-2026-11-18-20-00-00.tar.gz',
    'parley restore backup.tar.gz --data-dir ./restored',
  )
    .argument('[file]', 'the backup')
    .option('--yes', 'replace existing data')
    .option(
      '--after-pg-restore',
      'restore no file: prepare a PostgreSQL database that pg_restore has restored',
    )
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
The backup is checked completely before anything is replaced. If this command is killed, the data folder has either the old
data or the new. Clients read their sessions again. Restore only backups that you trust: config.json names programs to run.`,
    )
    .action(run(async () => (await import('../commands/restore.ts')).restoreBackup))
}

function addRetention({ add, run }: Registry): void {
  add(
    'retention',
    'list the sessions that retention would archive or delete now; changes nothing',
    'parley retention',
    'parley retention --archive-after 30d --delete-after 180d',
  )
    .option('--archive-after <age>', 'assume that unused sessions are archived after this time, e.g. 30d')
    .option('--delete-after <age>', 'assume that unused sessions are deleted after this time, e.g. 180d')
    .option('--dry-run', 'has no effect, because this command never changes anything')
    .option('--json', 'print one session per line, as JSON')
    .addHelpText(
      'after',
      `
Retention is off unless config.json has "retention": {"archiveAfter": "30d", "deleteAfter": "180d"}. A running server then
archives and deletes such sessions every hour. It keeps pinned sessions, and sessions with open requests, queued prompts or running work.`,
    )
    .action(run(async () => (await import('../commands/retention.ts')).retention))
}

/** `completions` needs the whole program, because it lists all commands and options. */
export function addCompletions(program: Command, { add, context, run }: Registry): void {
  add(
    'completions',
    'print a script that completes commands, options, sessions and agents in a shell',
    'parley completions bash >> ~/.bashrc',
    'parley completions fish > ~/.config/fish/completions/parley.fish',
  )
    .alias('completion')
    .argument('[shell]', 'bash, zsh or fish')
    .addOption(new Option('--values <kind>', 'print the values that a completion script requests').hideHelp())
    .action(
      run(async () => {
        const { completions } = await import('../commands/completions.ts')
        return (shell: string | undefined, options: object) => completions(shell, options, program, context)
      }),
    )
}
