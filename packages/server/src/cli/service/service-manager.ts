import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findProgram } from '@parley/adapter-kit/find-program'
import { runProgram } from '@parley/adapter-kit/run-program'
import { ParleyError } from '@parley/protocol'
import type { ServicePlan, ServiceRecord } from './service-plan.ts'

/** The program of the system that starts services of one user: systemd or launchd. */
export type ServiceManager = {
  readonly kind: 'systemd' | 'launchd'
  readonly file: string
  definition(plan: ServicePlan): string
  recordOf(definition: string): ServiceRecord | undefined
  /** Makes the system read the definition, and starts the service with it, now and at every login. */
  start(): Promise<void>
  /** Lets the service run while the user is not logged in. */
  keepAtBoot(): Promise<void>
  /** Stops the service and makes the system forget it. */
  stop(): Promise<void>
  state(): Promise<ServiceState>
  /** The program that prints the log, with its arguments. */
  logs(options: {
    readonly lines: number
    readonly follow: boolean
    readonly json: boolean
  }): readonly string[]
}

export type ServiceState = {
  readonly state: 'running' | 'starting' | 'stopped' | 'failed'
  readonly pid?: number
  readonly enabled: boolean
  /** Whether the service runs while the user is not logged in. */
  readonly atBoot: boolean
  /** The reason of the failure, as the system reports it. */
  readonly reason?: string
}

export type ManagerOptions = {
  readonly name: string
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export type Run = (...words: readonly string[]) => Promise<string>

const timeoutMs = 60_000

/** Runs a program to its end and returns its output. If it fails, the error contains its stderr. */
export function runnerFor(env: ManagerOptions['env']): Run {
  return async (name = '', ...args) => {
    const command = findProgram({ name, env })
    if (command === undefined)
      throw new ParleyError(
        'not_found',
        `${name} was not found on the PATH. This system cannot run Parley as a service: see docs/operations.md.`,
      )
    const { exitCode, stdout, stderrTail } = await runProgram({ command, args, env, timeoutMs })
    if (exitCode === 0) return stdout
    const words = [name, ...args].join(' ')
    throw new ParleyError(
      'internal_error',
      `${words} failed: ${stderrTail || stdout.trim() || `exit code ${exitCode}`}`,
      {
        details: { exitCode },
      },
    )
  }
}

export function installedDefinition({ file }: ServiceManager): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

/** Replaces the definition. It may contain secrets, so only this user can read it. */
export function writeDefinition({ file }: ServiceManager, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const temporary = join(dirname(file), `.${process.pid}.parley`)
  rmSync(temporary, { force: true })
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
  renameSync(temporary, file)
}
