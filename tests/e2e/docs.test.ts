import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { createHome } from '../../packages/server/src/cli/program-under-test.ts'
import { compileCache } from '../../packages/server/src/testing/compile-cache.ts'
import { folderForFile } from '../../packages/server/src/testing/temporary-folder.ts'

/** Tests programs from the docs, run as printed, on a machine without any sign-in. */
const root = resolve(import.meta.dirname, '../..')
const home = folderForFile()

/** The first program in a page of the docs that contains the text `use`. */
function programIn(page: string, use: string): string {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/```ts\n(.*?)```/gs)
  const found = [...blocks].map(([, program = '']) => program).find((program) => program.includes(use))
  if (found === undefined) throw new Error(`${page} has no program with ${use}`)
  return found
}

async function run(program: string, more: Record<string, string> = {}) {
  const options = ['--no-warnings', '--conditions=source', '--input-type=module-typescript', '-']
  const env = { PATH: process.env.PATH, HOME: home, ...compileCache(), ...more }
  const child = spawn(process.execPath, options, { cwd: root, env, stdio: 'pipe' })
  const said = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  child.stdin.end(program)
  const [stdout, stderr, [exitCode]] = await said
  return { stdout, stderr, exitCode }
}

it.each([['README.md'], ['docs/library.md']])('the first library program in %s runs', async (page) => {
  const { stdout, stderr, exitCode } = await run(programIn(page, 'createHost'))
  expect([stderr, exitCode]).toEqual(['', 0])
  expect(stdout).toContain('I am the demo agent.')
})

it('the client program in README.md runs with the server that README.md starts', async () => {
  await using parley = createHome()
  const { url, token } = await parley.serve()
  const [before, after] = programIn('README.md', 'createClient').split('http://127.0.0.1:4747')
  const { stdout, stderr, exitCode } = await run(`${before}${url}${after}`, { TOKEN: token })
  expect([stderr, exitCode]).toEqual(['', 0])
  expect(stdout).toMatch(/The old build is in the way[\s\S]*Thank you\./)
})

it('the first program of docs/host-tools.md says what to do without a sign-in', async () => {
  const { stdout, stderr, exitCode } = await run(programIn('docs/host-tools.md', 'defineTool'))
  expect([stdout, exitCode]).toEqual(['', 0])
  expect(stderr).toMatch(/^Claude Code is not signed in\. Set ANTHROPIC_API_KEY, or .* auth login\n$/)
})

it('the load balancer of examples/nodes listens on this machine only, at the address that docs/nodes.md names', () => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8')
  const addresses = [...read('examples/nodes/nginx.conf').matchAll(/^ *listen (.*);$/gm)].map(([, at]) => at)
  expect(addresses).toEqual(['127.0.0.1:8080'])
  expect(read('docs/nodes.md')).toContain('curl http://localhost:8080/api/health')
  // In the container, nginx listens on every address: the Docker daemon publishes the port, on this machine only.
  const compose = read('examples/nodes/compose.yaml')
  expect(compose).toContain(`sed 's/${addresses[0]}/8080/'`)
  expect(compose).toContain('- 127.0.0.1:8080:8080')
})
