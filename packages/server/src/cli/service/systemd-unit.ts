import type { ServicePlan, ServiceRecord } from './service-plan.ts'

/**
 * Formats the unit of a service for the systemd of one user. The server parks its turns when it gets SIGTERM;
 * `KillMode=mixed` sends that signal only to the server, and kills remaining processes afterwards. `OOMPolicy=continue`
 * lets the server report an agent that the kernel killed. Exit code 2 means that an option or config.json is wrong,
 * which a restart does not correct.
 */
export function systemdUnit({ command, variables, record }: ServicePlan): string {
  const [program = '', ...args] = startable(command)
  const lines = Object.entries(variables).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`)
  return `# Written by parley ${record.version}. To change it, use: parley service install
[Unit]
Description=Parley, the session server for coding agents
${recordKey}=${JSON.stringify(record)}
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
ExecStart=${[quoted(program), ...args.map((word) => quoted(word).replaceAll('$', '$$$$'))].join(' ')}
${lines.join('\n')}
UMask=0077
KillMode=mixed
OOMPolicy=continue
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=2
TimeoutStopSec=30

[Install]
WantedBy=default.target
`
}

/** systemd ignores keys that begin with X-. */
const recordKey = 'X-Parley'

export function recordOfUnit(text: string): ServiceRecord | undefined {
  const json = new RegExp(`^${recordKey}=(.*)$`, 'm').exec(text)?.[1]
  return json === undefined ? undefined : (JSON.parse(json) as ServiceRecord)
}

/** systemd refuses a program whose path contains quotes or backslashes. A shell starts such a program. */
function startable(command: readonly string[]): readonly string[] {
  return /["'\\]/.test(command[0] ?? '') ? ['/bin/sh', '-c', 'exec "$0" "$@"', ...command] : command
}

/** A word of a unit. `%` begins a specifier, also inside quotes; `$` has a meaning only in arguments of commands. */
function quoted(text: string): string {
  const escaped = text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')
  return `"${escaped.replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`
}
