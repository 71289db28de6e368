import { spawnSync } from 'node:child_process'
import { findProgram } from '../packages/server/src/adapters/find-program.ts'
import { findChromium, headlessShell } from '../tests/run/chromium.ts'

/**
 * Makes sure that a Chromium for the tests of the console is installed. If the headless one is missing,
 * installs it with the system's package manager. If that fails, any other Chromium is accepted; without one,
 * the script prints what to do.
 */
if (findChromium([headlessShell]) === undefined && !install(headlessShell) && findChromium() === undefined) {
  console.error('Tests need Chromium. Install it, or name it with PARLEY_CHROMIUM=/path/to/chromium.')
  process.exitCode = 1
}

function install(name: string): boolean {
  if (findProgram({ name: 'apt-get', env: process.env }) === undefined) return false
  console.log(`${name} is missing: installing it with apt-get, once.`)
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const run = (...args: string[]) => {
    const [command = '', ...rest] = [...sudo, 'apt-get', ...args]
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    return spawnSync(command, rest, { stdio: 'inherit', env }).status === 0
  }
  return run('update', '-q') && run('install', '-qy', '--no-install-recommends', name)
}
