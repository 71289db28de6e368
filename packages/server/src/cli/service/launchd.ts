import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { launchdAgent, recordOfAgent } from './launchd-agent.ts'
import { type ManagerOptions, runnerFor, type ServiceManager } from './service-manager.ts'

export function createLaunchd({ name, home, env }: ManagerOptions): ServiceManager {
  const launchctl = runnerFor(env)
  const file = join(home, 'Library', 'LaunchAgents', `${name}.plist`)
  const logFile = join(home, 'Library', 'Logs', `${name}.log`)
  const domain = `gui/${process.getuid?.() ?? 0}`
  const target = `${domain}/${name}`
  const print = () => launchctl('launchctl', 'print', target).catch(() => undefined)
  const forget = async () => {
    if ((await print()) !== undefined) await launchctl('launchctl', 'bootout', target)
  }
  return {
    kind: 'launchd',
    file,
    definition: (plan) => launchdAgent(plan, logFile),
    recordOf: recordOfAgent,
    async start() {
      await forget()
      await launchctl('launchctl', 'enable', target)
      await launchctl('launchctl', 'bootstrap', domain, file)
    },
    async keepAtBoot() {
      throw new ParleyError(
        'not_supported',
        'launchd starts a service of a user when the user logs in. To start it at boot, let this user log in automatically.',
      )
    },
    stop: forget,
    async state() {
      const text = await print()
      const value = (name: string) => new RegExp(`^\\s*${name} = (.+)$`, 'm').exec(text ?? '')?.[1]
      const pid = Number(value('pid'))
      const exit = value('last exit code')
      const isFailed = exit !== undefined && /^[1-9]/.test(exit)
      const idle = isFailed ? 'failed' : 'stopped'
      return {
        state: value('state') === 'running' ? 'running' : idle,
        enabled: existsSync(file),
        atBoot: false,
        ...(pid > 0 && { pid }),
        ...(isFailed && { reason: `exit code ${exit}` }),
      }
    },
    logs: ({ lines, follow }) => ['tail', '-n', String(lines), ...(follow ? ['-F'] : []), logFile],
  }
}
