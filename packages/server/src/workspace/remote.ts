import { join } from 'node:path'
import type { FolderGit } from './folder-git.ts'

/** The remote that a branch is pushed to. */
export type Remote = {
  readonly name: string
  /** The URL without credentials. Absent if the remote has no URL. */
  readonly url?: string
}

/** Finds the remote to which git would push the branch. Undefined if there is none. */
export async function remoteOf(
  { look, repository, trusted }: FolderGit,
  branch: string,
): Promise<Remote | undefined> {
  // In an untrusted folder, git does not read the configuration of the repository, so the file is named here. Reading
  // it runs no program.
  const own = ['--file', join(repository.commonDir, 'config'), '--no-includes']
  const { stdout } = await look([
    'config',
    ...(trusted ? [] : own),
    '-z',
    '--get-regexp',
    '^(remote|branch)\\.',
  ])
  const settings = new Map<string, string>()
  for (const entry of stdout.split('\0')) {
    const end = entry.indexOf('\n')
    if (end > 0) settings.set(entry.slice(0, end), entry.slice(end + 1))
  }
  const names = [...settings.keys()].flatMap((key) => /^remote\.(.+)\.url$/s.exec(key)?.[1] ?? [])
  const wanted = [
    settings.get(`branch.${branch}.pushremote`),
    settings.get('remote.pushdefault'),
    settings.get(`branch.${branch}.remote`),
    'origin',
    names.length === 1 ? names[0] : undefined,
  ]
  const name = wanted.find((one) => one !== undefined && names.includes(one) && !one.startsWith('-'))
  if (name === undefined) return undefined
  const url = settings.get(`remote.${name}.pushurl`) ?? settings.get(`remote.${name}.url`)
  return { name, ...(url !== undefined && { url: withoutCredentials(url) }) }
}

function withoutCredentials(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || parsed.host === '') return url
  const isShell = parsed.protocol === 'ssh:'
  parsed.password = ''
  if (!isShell) parsed.username = ''
  return parsed.href
}

/** The web page of a repository: `host` includes the port, `path` is the path of the repository. */
export type Page = { readonly host: string; readonly path: string }

/** The web page of a remote, derived from its URL. Undefined if the URL is not that of a host on the web. */
export function pageOf(url: string | undefined): Page | undefined {
  if (url === undefined) return undefined
  const [, short, path] = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)\/?(.+)$/.exec(url) ?? []
  if (short !== undefined && path !== undefined) return page(short, path)
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^(https?|ssh|git):$/.test(parsed.protocol)) return undefined
  // The port of an SSH URL is dropped, because the web page does not use it.
  return page(/^https?:$/.test(parsed.protocol) ? parsed.host : parsed.hostname, parsed.pathname)
}

function page(host: string, path: string): Page | undefined {
  const found = path.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
  const isPlain = /^[a-z0-9.-]+(:\d+)?$/i.test(host) && /^[^\s\p{Cc}?#]+\/[^\s\p{Cc}?#]+$/u.test(found)
  return isPlain ? { host: host.toLowerCase(), path: found } : undefined
}

/** The command-line program for the pull requests of a host. */
export function programFor({ host }: Page): 'gh' | 'glab' | undefined {
  if (/(^|\.)github\./.test(host)) return 'gh'
  return /(^|\.)gitlab\./.test(host) ? 'glab' : undefined
}

/** The page on which a person can open a pull request. Undefined for an unknown kind of host. */
export function newRequestLink({ host, path }: Page, branch: string, base: string): string | undefined {
  const root = `https://${host}/${path.split('/').map(encodeURIComponent).join('/')}`
  const [from, to] = [branch, base].map(encodeURIComponent)
  if (programFor({ host, path }) === 'gh') return `${root}/compare/${to}...${from}?expand=1`
  if (programFor({ host, path }) === 'glab')
    return `${root}/-/merge_requests/new?merge_request%5Bsource_branch%5D=${from}&merge_request%5Btarget_branch%5D=${to}`
  if (host === 'bitbucket.org') return `${root}/pull-requests/new?source=${from}&dest=${to}`
  return host === 'codeberg.org' || /(^|\.)gitea\./.test(host) ? `${root}/compare/${to}...${from}` : undefined
}
