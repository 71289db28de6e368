import { expect, it } from 'vitest'
import { isProtectedPath } from './protected-paths.ts'

it.each([
  '.git',
  '.git/config',
  'sub/module/.git/hooks/pre-commit',
  '.GIT/config',
  '.Git/config',
  '.git./config',
  '.git /config',
  '.git::$INDEX_ALLOCATION/config',
  'GIT~1/config',
  '.g\u200cit/config',
  '.\uff47it/config',
  '.hu\u017fky/pre-push',
  'sub\\.git\\config',
  '.claude/settings.json',
  '.claude/worktrees',
  '.claude/worktrees/a/.git',
  '.codex/config.toml',
  '.gemini/settings.json',
  '.qwen/settings.json',
  '.opencode/plugin/x.ts',
  '.parley/config.json',
  'opencode.json',
  '.mcp.json',
  '.vscode/tasks.json',
  '.idea/workspace.xml',
  '.husky/pre-commit',
  '.envrc',
  'app/.npmrc',
  '.bashrc',
  '.ZSHRC',
  '.emacs.d/init.el',
  '.gdbinit',
  '.xprofile',
  '.config/fish/config.fish',
  '/home/me/Library/LaunchAgents/x.plist',
])('%j is protected', (path) => {
  expect(isProtectedPath(path)).toBe(true)
})

it.each([
  'src/a.ts',
  'git/config',
  '.github/workflows/ci.yml',
  '.gitignore',
  'docs/.git-notes.md',
  'AGENTS.md',
  'CLAUDE.md',
  'package.json',
  '.env',
  '.claude/worktrees/a/src/b.ts',
  'tests/opencode.json.snap',
  '.bashrc.d/x',
  '.config/app.json',
  '',
])('%j is not protected', (path) => {
  expect(isProtectedPath(path)).toBe(false)
})
