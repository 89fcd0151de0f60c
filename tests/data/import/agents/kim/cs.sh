#!/bin/sh
exec grep -rn -e "$1" .
