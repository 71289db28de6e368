import { spawnSync } from 'node:child_process'
import { findProgram } from '@parley/adapter-kit/find-program'
import { findChromium, headlessShell } from '../tests/run/chromium.ts'

/**
 * Makes sure that the programs which tests need are installed: Chromium for the console, openssl for certificates of
 * PostgreSQL and of servers, nginx, systemd-analyze, and the shells whose completions are tested. Installs a missing
 * program with the system's package manager. If the headless Chromium cannot be installed, any other Chromium is
 * accepted. If a program is still missing, the script prints what to do.
 */
if (findChromium([headlessShell]) === undefined && !install(headlessShell) && findChromium() === undefined) {
  fail('Tests need Chromium. Install it, or name it with PARLEY_CHROMIUM=/path/to/chromium.')
}
/** Programs, and the packages that contain them. */
const programs = {
  openssl: 'openssl',
  nginx: 'nginx',
  'systemd-analyze': 'systemd',
  zsh: 'zsh',
  fish: 'fish',
}
for (const [name, packageName] of Object.entries(programs))
  if (!isInstalled(name) && !install(packageName)) fail(`Tests need the program ${name}. Install it.`)

function isInstalled(name: string): boolean {
  // Servers such as nginx are often in a folder that is only on the PATH of root.
  return findProgram({ name, env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } }) !== undefined
}

function install(name: string): boolean {
  if (!isInstalled('apt-get')) return false
  console.log(`${name} is missing: installing it with apt-get, once.`)
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const run = (...args: string[]) => {
    const [command = '', ...rest] = [...sudo, 'apt-get', ...args]
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    return spawnSync(command, rest, { stdio: 'inherit', env }).status === 0
  }
  return run('update', '-q') && run('install', '-qy', '--no-install-recommends', name)
}

function fail(message: string): void {
  console.error(message)
  process.exitCode = 1
}
