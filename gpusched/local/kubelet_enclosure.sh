#!/bin/sh
# kubelet_enclosure.sh FOLDER COVERED COMMAND...: runs a kubelet, or the runtime beside it, in the mount namespace that
# it was started in, so that what they keep at fixed paths, and the kernel settings they change, are files below FOLDER.
# COVERED is one more folder to put an empty one over, or an empty word.
set -eu
folder=$1
covered=$2
shift 2
mount -t tmpfs tmpfs /var/lib
mount -t tmpfs tmpfs /var/log
[ -z "$covered" ] || mount -t tmpfs tmpfs "$covered"
# The sockets of device plugins: pkg/apis/deviceplugin/v1beta1/constants.go of k8s.io/kubelet.
mkdir -p /var/lib/kubelet/device-plugins /var/log/containers "$folder/device-plugins"
mount --bind "$folder/device-plugins" /var/lib/kubelet/device-plugins
# The settings of setupKernelTunables: pkg/kubelet/cm/container_manager_linux.go.
for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys \
  kernel/keys/root_maxbytes; do
  [ -e "/proc/sys/$name" ] || continue
  mkdir -p "$folder/sys/${name%/*}"
  cat "/proc/sys/$name" > "$folder/sys/$name"
  mount --bind "$folder/sys/$name" "/proc/sys/$name"
done
# A kubelet that does not know the path of a container's log takes the files of its working directory for it.
mkdir -p "$folder/empty"
cd "$folder/empty"
exec "$@"
