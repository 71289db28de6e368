import { execFile, spawn } from 'node:child_process'
import { findProgram } from '@parley/adapter-kit/find-program'
import { ParleyError } from '@parley/protocol'
import { z } from 'zod'
import type { Context } from './context.ts'

/**
 * Tunnels to this machine that other programs run. They are detected by asking those programs; only `serveByTailscale`
 * starts one. The headers with which Tailscale names a user are not used: every program of this machine can send them.
 */
export type Tunnel = {
  readonly program: 'tailscale' | 'cloudflared'
  /** Without a slash at the end. */
  readonly url: string
  /** Whether the target of the tunnel is this server. Undefined if its program does not report the target. */
  readonly leadsHere?: boolean
  /** Whether everybody on the internet can reach the tunnel. */
  readonly isOpen: boolean
}

const askMs = 5_000
/** The time limit of `tailscale serve`, which may wait until a person has allowed HTTPS in the tailnet. */
const serveMs = 120_000

const Status = z.object({
  BackendState: z.string(),
  Self: z.object({ DNSName: z.string().optional() }).nullish(),
})
const Serve = z
  .object({
    Web: z
      .record(
        z.string(),
        z.object({ Handlers: z.record(z.string(), z.object({ Proxy: z.string().optional() })).nullish() }),
      )
      .nullish(),
    AllowFunnel: z.record(z.string(), z.boolean()).nullish(),
  })
  .nullable()

/** The tunnels that run now. Programs that are not installed or do not answer are left out. */
export async function findTunnels(port: number, context: Context): Promise<Tunnel[]> {
  const found = await Promise.all([tailscaleTunnels(port, context), quickTunnels()])
  return found.flat()
}

async function tailscaleTunnels(port: number, context: Context): Promise<Tunnel[]> {
  const program = tailscaleIn(context)
  if (program === undefined) return []
  const served = Serve.safeParse(await askJson(program, ['serve', 'status', '--json'], context))
  return Object.entries(served.data?.Web ?? {}).flatMap(([host, { Handlers }]) =>
    Object.entries(Handlers ?? {}).flatMap(([path, { Proxy: target }]): Tunnel[] => {
      const url = `https://${host.replace(/:443$/, '')}${path.replace(/\/+$/, '')}`
      if (target === undefined || !URL.canParse(url)) return []
      const isOpen = served.data?.AllowFunnel?.[host] === true
      return [{ program: 'tailscale', url, leadsHere: isAt(target, port), isOpen }]
    }),
  )
}

/** Whether the target of a proxy is this port on this machine. */
function isAt(target: string, port: number): boolean {
  const url = URL.canParse(target.replace(/^https\+insecure:/, 'https:'))
    ? new URL(target.replace(/^https\+insecure:/, 'https:'))
    : undefined
  return url?.port === `${port}` && /^(127\.0\.0\.1|localhost|\[::1\])$/.test(url.hostname)
}

const metricsPorts = [20241, 20242, 20243, 20244, 20245]

/** The quick tunnels of cloudflared. It reports their names at the port of its metrics. */
async function quickTunnels(): Promise<Tunnel[]> {
  const found = await Promise.all(metricsPorts.map(quickTunnelAt))
  return found.flatMap((hostname): Tunnel[] =>
    hostname === undefined ? [] : [{ program: 'cloudflared', url: `https://${hostname}`, isOpen: true }],
  )
}

async function quickTunnelAt(port: number): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(askMs)
    const answer = await fetch(`http://127.0.0.1:${port}/quicktunnel`, { signal, redirect: 'error' })
    const { hostname } = z.object({ hostname: z.string() }).parse(await answer.json())
    return /^[a-z0-9-]+\.trycloudflare\.com$/.test(hostname) ? hostname : undefined
  } catch {
    return undefined
  }
}

/**
 * Lets `tailscale serve` proxy to the server, unless it does already. Returns the URL. Throws a ParleyError if
 * Tailscale is missing or not connected, or if it already serves something else at this address.
 */
export async function serveByTailscale(server: URL, context: Context): Promise<string> {
  const program = tailscaleIn(context)
  if (program === undefined)
    throw new ParleyError(
      'not_found',
      'The program tailscale is not on the PATH. Install Tailscale and sign in.',
    )
  const status = Status.safeParse(await askJson(program, ['status', '--json'], context)).data
  const name = status?.Self?.DNSName?.replace(/\.$/, '')
  if (status?.BackendState !== 'Running' || !name) {
    throw new ParleyError(
      'conflict',
      `Tailscale is not connected${status ? ` (${status.BackendState})` : ''}. Connect it with: tailscale up`,
    )
  }
  const url = `https://${name}`
  const port = Number(server.port)
  const served = (await tailscaleTunnels(port, context)).find((tunnel) => tunnel.url === url)
  if (served?.leadsHere) return url
  if (served) {
    throw new ParleyError(
      'conflict',
      `tailscale serve already serves another program at ${url}, and Parley does not replace it. Serve Parley at another port: tailscale serve --bg --https=8443 ${targetOf(server)}, and then give its address: ${context.commandLine(`pair --url ${url}:8443`)}`,
    )
  }
  await startServing(program, targetOf(server), context)
  return url
}

/** The certificate of a server with TLS is not for 127.0.0.1, so Tailscale must not check it. */
function targetOf({ protocol, port }: URL): string {
  return `${protocol === 'https:' ? 'https+insecure' : 'http'}://127.0.0.1:${port}`
}

/** Shows the output of tailscale, which may ask the person to allow HTTPS in the tailnet. */
function startServing(program: string, target: string, { env, output }: Context): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['serve', '--bg', target], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const timer = setTimeout(() => child.kill(), serveMs)
    child.stdout.on('data', (text: Buffer) => output.err(text.toString()))
    child.stderr.on('data', (text: Buffer) => output.err(text.toString()))
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      if (code === 0) return resolve()
      const message = `tailscale serve failed${code === null ? ': it did not finish in time' : ` with exit code ${code}`}. Nothing was changed in Parley.`
      reject(new ParleyError('conflict', message))
    })
  })
}

function tailscaleIn({ env }: Context): string | undefined {
  return findProgram({ name: 'tailscale', env })
}

function askJson(program: string, args: readonly string[], { env }: Context): Promise<unknown> {
  return new Promise((resolve) => {
    execFile(program, [...args], { env, timeout: askMs }, (error, stdout) => {
      try {
        resolve(error ? undefined : JSON.parse(stdout))
      } catch {
        resolve(undefined)
      }
    })
  })
}
