import { builtInAdapters } from '../../adapters/index.ts'
import { defaultLimits } from '../../core/index.ts'
import { type Check, checkLine } from '../checks.ts'
import type { Context } from '../context.ts'
import { parseDuration } from '../durations.ts'
import { examineAgent } from '../examine-agent.ts'
import { exitCodes } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import { agentsAt, type InstallOptions, type ListAgents } from './agents-install.ts'

export type AgentDoctorOptions = Omit<InstallOptions, 'latest' | 'version'> & {
  readonly timeout?: string
  readonly prompt?: string
}

/** Examines an agent and prints each result at once. Exit code 1 if something fails. */
export async function agentDoctor(
  id: string,
  options: AgentDoctorOptions,
  context: Context,
  list: ListAgents = builtInAdapters,
): Promise<number> {
  const { adapterOf, own } = await agentsAt(options, context, list)
  const adapter = adapterOf(id)
  const { connectMs } = defaultLimits
  const timeoutMs = options.timeout === undefined ? connectMs : parseDuration(options.timeout, '--timeout')
  const checks: Check[] = []
  const add = (check: Check) => {
    checks.push(check)
    context.output.out(options.json ? `${JSON.stringify(check)}\n` : checkLine(check, context))
  }
  const stop = new AbortController()
  using _ = onInterrupt(() => stop.abort())
  const { commandLine } = context
  const { prompt } = options
  const examination = { adapter, module: own.moduleOf(id), commandLine, timeoutMs, stop: stop.signal, add }
  await examineAgent({ ...examination, ...(prompt !== undefined && { prompt }) })
  if (stop.signal.aborted) return exitCodes.cancelled
  return checks.some(({ result }) => result === 'fail') ? exitCodes.failed : exitCodes.completed
}
