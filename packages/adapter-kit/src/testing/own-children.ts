import { execFileSync } from 'node:child_process'

type Listed = { readonly pid: string; readonly parent: string }

/** The live processes of this machine, except the `ps` that lists them. */
function allProcesses(): Listed[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,comm='], { encoding: 'utf8' }).split('\n')
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state, name]) => state !== undefined && !state.startsWith('Z') && name !== 'ps')
    .map(([pid = '', parent = '']) => ({ pid, parent }))
}

export function ownChildren(): string[] {
  return childrenOf(allProcesses(), [`${process.pid}`])
}

/**
 * The live processes that this process has started, with all their descendants, except the children in `others` and
 * their descendants.
 */
export function ownDescendants(others: readonly string[]): string[] {
  const all = allProcesses()
  const found: string[] = []
  let parents = childrenOf(all, [`${process.pid}`]).filter((pid) => !others.includes(pid))
  for (; parents.length > 0; parents = childrenOf(all, parents)) found.push(...parents)
  return found
}

export function areAlive(pids: readonly string[]): boolean {
  return allProcesses().some(({ pid }) => pids.includes(pid))
}

function childrenOf(all: readonly Listed[], parents: readonly string[]): string[] {
  return all.filter(({ parent }) => parents.includes(parent)).map(({ pid }) => pid)
}
