import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { processesIn } from '@parley/adapter-kit/testing'
import type { AgentName } from './side.ts'

/** What the processes of a side use, those of the agent included, and those of the agent alone. */
export type Usage = { readonly all: number; readonly agent: number }

const isAgent: Record<AgentName, (line: string) => boolean> = {
  claude: (line) => /claude-agent-sdk-[^/ ]+\/claude\b/.test(line),
  opencode: (line) => /opencode-[^/ ]+\/bin\/opencode\b/.test(line),
  qwen: (line) => line.includes('qwen-code') && line.includes('--acp'),
}

/** The processor time of the living processes with this home, in milliseconds; undefined without /proc. */
export function processorMs(home: string, agent: AgentName): Usage | undefined {
  return sumOver(home, agent, (pid) => {
    const [, rest = ''] = /\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    const fields = rest.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * msPerTick
  })
}

/** Linux reports processor time to programs in hundredths of a second. */
const msPerTick = 10

/** The resident memory of the processes with this home, in bytes; undefined without /proc. */
export function residentBytes(home: string, agent: AgentName): Usage | undefined {
  return sumOver(home, agent, (pid) => {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  })
}

function sumOver(home: string, agent: AgentName, of: (pid: number) => number): Usage | undefined {
  if (process.platform !== 'linux') return undefined
  let [all, own] = [0, 0]
  for (const { pid, line } of processesIn(home)) {
    const value = orZero(() => of(pid))
    all += value
    if (isAgent[agent](line)) own += value
  }
  return { all, agent: own }
}

/** 0 if the process has ended in the meantime. */
function orZero(read: () => number): number {
  try {
    return read()
  } catch {
    return 0
  }
}

/** Kills the processes with this home that did not end with their server. */
export function endLeftovers(home: string): void {
  for (const { pid } of processesIn(home)) orZero(() => Number(process.kill(pid, 'SIGKILL')))
}

/** The bytes of all files in a folder, and of those in these folders inside it. */
export function storedBytes(home: string, agentFolders: readonly string[]): Usage {
  let [all, agent] = [0, 0]
  for (const entry of readdirSync(home, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const { size } = statSync(path)
    all += size
    if (agentFolders.some((folder) => path.startsWith(join(home, folder) + sep))) agent += size
  }
  return { all, agent }
}
