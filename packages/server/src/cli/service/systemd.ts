import { join } from 'node:path'
import { messageOf, ParleyError } from '@parley/protocol'
import {
  type ManagerOptions,
  type Run,
  runnerFor,
  type ServiceManager,
  type ServiceState,
} from './service-manager.ts'
import { recordOfUnit, systemdUnit } from './systemd-unit.ts'

export function createSystemd({ name, home, env }: ManagerOptions): ServiceManager {
  const unit = `${name}.service`
  const run = runnerFor(env)
  const systemctl: Run = async (...words) => {
    try {
      return await run('systemctl', '--user', ...words)
    } catch (thrown) {
      throw withoutManager(thrown) ?? thrown
    }
  }
  return {
    kind: 'systemd',
    file: join(env.XDG_CONFIG_HOME || join(home, '.config'), 'systemd', 'user', unit),
    definition: systemdUnit,
    recordOf: recordOfUnit,
    async start() {
      await systemctl('daemon-reload')
      await systemctl('enable', unit)
      await systemctl('reset-failed', unit).catch(() => undefined)
      await systemctl('restart', unit)
    },
    async keepAtBoot() {
      await run('loginctl', 'enable-linger')
    },
    async stop() {
      await systemctl('disable', '--now', unit)
    },
    async state() {
      const properties = 'ActiveState,MainPID,UnitFileState,Result'
      const found = propertiesOf(await systemctl('show', unit, `--property=${properties}`))
      const linger = await run('loginctl', 'show-user', '--property=Linger').catch(() => '')
      const pid = Number(found.MainPID)
      return {
        state: stateOf(found.ActiveState),
        enabled: found.UnitFileState === 'enabled',
        atBoot: linger.trim() === 'Linger=yes',
        ...(pid > 0 && { pid }),
        ...(found.Result && found.Result !== 'success' && { reason: found.Result }),
      }
    },
    logs: ({ lines, follow, json }) => [
      'journalctl',
      '--user',
      `--user-unit=${unit}`,
      `--lines=${lines}`,
      ...(json ? ['--output=cat'] : []),
      ...(follow ? ['--follow'] : ['--no-pager']),
    ],
  }
}

function propertiesOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.includes('='))
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}

function stateOf(active: string | undefined): ServiceState['state'] {
  if (active === 'active' || active === 'reloading') return 'running'
  if (active === 'activating') return 'starting'
  return active === 'failed' ? 'failed' : 'stopped'
}

/** The error for a shell without a systemd of its user, such as one after `su` or in a container. */
function withoutManager(thrown: unknown): ParleyError | undefined {
  if (!/connect to bus|XDG_RUNTIME_DIR|not been booted with systemd/i.test(messageOf(thrown)))
    return undefined
  return new ParleyError(
    'not_supported',
    'No systemd of your user runs here, as after `su` or `sudo`, or in a container. Log in as that user, for example over ssh, and try again. docs/operations.md describes other ways.',
    { cause: thrown },
  )
}
