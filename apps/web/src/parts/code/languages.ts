/** The languages that are highlighted. Their grammars are in `grammars.ts`, which only the worker imports. */
const languages = [
  'bash',
  'c',
  'cpp',
  'csharp',
  'css',
  'diff',
  'dockerfile',
  'go',
  'html',
  'java',
  'javascript',
  'json',
  'kotlin',
  'php',
  'python',
  'ruby',
  'rust',
  'sql',
  'swift',
  'toml',
  'tsx',
  'typescript',
  'yaml',
] as const

export type Language = (typeof languages)[number]

const isLanguage = (name: string): name is Language => (languages as readonly string[]).includes(name)

const other: Record<string, Language> = {
  'c++': 'cpp',
  'c#': 'csharp',
  cs: 'csharp',
  docker: 'dockerfile',
  js: 'javascript',
  jsx: 'tsx',
  jsonc: 'json',
  kt: 'kotlin',
  mjs: 'javascript',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  ts: 'typescript',
  yml: 'yaml',
  zsh: 'bash',
}

export function languageNamed(name: string): Language | undefined {
  if (isLanguage(name)) return name
  return Object.hasOwn(other, name) ? other[name] : undefined
}

const byEnding = new Map([
  ['cc', 'cpp'],
  ['cjs', 'javascript'],
  ['cts', 'typescript'],
  ['h', 'c'],
  ['hpp', 'cpp'],
  ['htm', 'html'],
  ['mts', 'typescript'],
])

export function languageOfFile(path: string): Language | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const ending = name.slice(name.lastIndexOf('.') + 1)
  return languageNamed(byEnding.get(ending) ?? ending)
}
