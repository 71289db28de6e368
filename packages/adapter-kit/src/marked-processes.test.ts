import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { agentLeftovers } from './marked-processes.ts'

const started: ChildProcess[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

/** Starts a shell as an agent of this owner. The shell starts a command in a separate process group. */
async function agentOf(owner: string | undefined): Promise<{ pid: number; command: number }> {
  const script = 'setsid sleep 600 & echo $!; wait'
  const variables = owner === undefined ? {} : agentLeftovers.variables(owner)
  const child = spawn('/bin/sh', ['-c', script], {
    env: { PATH: process.env.PATH, ...variables },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  started.push(child)
  const [line] = await once(child.stdout, 'data')
  return { pid: child.pid ?? 0, command: Number.parseInt(String(line), 10) }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe.runIf(existsSync('/proc'))('agents that a former owner has left behind', () => {
  it('are killed with their commands, and no other process is', async () => {
    const left = await agentOf('one')
    const others = [await agentOf('one-more'), await agentOf('on'), await agentOf(undefined)]
    await agentLeftovers.end('one')
    expect([left.pid, left.command].filter(isRunning)).toEqual([])
    for (const { pid, command } of others) expect([pid, command].every(isAlive)).toBe(true)
    for (const { command } of others) process.kill(command, 'SIGKILL')
  })

  it('are not required: without any, end resolves', async () => {
    await expect(agentLeftovers.end('nobody')).resolves.toBeUndefined()
  })
})

/** False for a zombie: a killed process remains as a zombie until its parent has read its status. */
function isRunning(pid: number): boolean {
  return isAlive(pid) && !isZombie(pid)
}

function isZombie(pid: number): boolean {
  return /^State:\s+Z/m.test(statusOf(pid))
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
